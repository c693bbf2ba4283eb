#include "backend/row_queries.h"

#include <gtest/gtest.h>

namespace slip {
namespace {

// A prompt with more to follow, a prompt's end with a draft, and a verify segment.
const Batch kBatch = {
    .tokens = {TokenId{1}, TokenId{2}, TokenId{3}, TokenId{4}, TokenId{5}, TokenId{6}, TokenId{7},
               TokenId{8}},
    .segments = {{.position = 0, .n_rows = 2, .n_certain = 2, .wants_next = false},
                 {.position = 10, .n_rows = 3, .n_certain = 2},
                 {.position = 20, .n_rows = 3, .n_certain = 1}}};

TEST(RowQueries, AreOneForEachRowThatProducesLogits) {
  std::vector<RowQuery> queries;
  make_row_queries(kBatch, {}, queries);
  std::vector<int32_t> positions;
  for (const RowQuery& query : queries) positions.push_back(query.position);
  EXPECT_EQ(positions, (std::vector<int32_t>{12, 13, 21, 22, 23}));
}

TEST(RowQueries, KnowTheDraftForTheirPosition) {
  std::vector<RowQuery> queries;
  make_row_queries(kBatch, {}, queries);
  std::vector<std::optional<TokenId>> drafts;
  for (const RowQuery& query : queries) drafts.push_back(query.draft());
  EXPECT_EQ(drafts, (std::vector<std::optional<TokenId>>{TokenId{5}, std::nullopt, TokenId{7},
                                                         TokenId{8}, std::nullopt}));
}

TEST(RowQueries, CarryTheSamplingAndTheLawsOfTheirSegment) {
  const SequenceSampling sampling[3];
  const std::vector<DraftLaw> laws(2);
  const AcceptRequest requests[] = {
      {.maybe_sampling = &sampling[0]}, {}, {.maybe_sampling = &sampling[2], .laws = laws}};
  std::vector<RowQuery> queries;
  make_row_queries(kBatch, requests, queries);
  EXPECT_EQ(queries[0].maybe_sampling, nullptr);
  EXPECT_EQ(queries[2].maybe_sampling, &sampling[2]);
  EXPECT_EQ(queries[3].maybe_law(), &laws[1]);
}

}  // namespace
}  // namespace slip
