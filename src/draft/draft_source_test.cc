#include "draft/draft_source.h"

#include <gtest/gtest.h>

namespace slip {
namespace {

TEST(Draft, TakesTheBeginOfAnotherWithItsLaws) {
  Draft whole{.tokens = {TokenId{1}, TokenId{2}, TokenId{3}},
              .laws = std::vector<DraftLaw>(3),
              .match_tokens = 9};
  whole.laws[1].n_tokens = 7;
  Draft part;
  part.take(whole, 2);
  EXPECT_EQ(part.tokens, (std::vector{TokenId{1}, TokenId{2}}));
  ASSERT_EQ(part.laws.size(), 2u);
  EXPECT_EQ(part.laws[1].n_tokens, 7);
  EXPECT_EQ(part.match_tokens, 9);
}

TEST(Draft, WithoutLawsStaysWithoutThem) {
  Draft part{.tokens = {}, .laws = std::vector<DraftLaw>(4)};
  part.take({.tokens = {TokenId{1}, TokenId{2}}, .laws = {}}, 1);
  EXPECT_TRUE(part.laws.empty());
}

}  // namespace
}  // namespace slip
