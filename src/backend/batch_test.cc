#include "backend/batch.h"

#include <gtest/gtest.h>

#include "backend/runner.h"

namespace slip {
namespace {

RunnerInfo small_runner() {
  RunnerInfo info;
  info.vocab_size = 10;
  info.context_tokens_max = 300;
  info.batch_rows_max = 80;
  info.logit_rows_max = 34;
  info.n_splits = 2;  // the split length changes every 128 tokens
  return info;
}

Batch batch_of(std::vector<Segment> segments) {
  Batch batch;
  batch.segments = std::move(segments);
  for (const Segment& s : batch.segments)
    batch.tokens.insert(batch.tokens.end(), static_cast<size_t>(s.n_rows), TokenId{1});
  return batch;
}

Segment prompt(int32_t state, int32_t position, int32_t n_rows) {
  return {.state = StateId{state},
          .position = position,
          .n_rows = n_rows,
          .n_certain = n_rows,
          .wants_next = false};
}

Segment verify(int32_t state, int32_t position, int32_t n_drafts) {
  return {.state = StateId{state},
          .position = position,
          .n_rows = 1 + n_drafts,
          .n_certain = 1,
          .wants_next = true};
}

TEST(Segment, ProducesLogitsFromItsLastCertainRowOn) {
  EXPECT_EQ(verify(0, 5, 0).n_logit_rows(), 1);
  EXPECT_EQ(verify(0, 5, 3).n_logit_rows(), 4);
  const Segment end_of_prompt{
      .state = StateId{0}, .position = 0, .n_rows = 9, .n_certain = 7, .wants_next = true};
  EXPECT_EQ(end_of_prompt.n_logit_rows(), 3);
}

TEST(Segment, ProducesNoLogitsInsideAPrompt) { EXPECT_EQ(prompt(0, 0, 40).n_logit_rows(), 0); }

TEST(Batch, AddsUpTheLogitRowsOfItsSegments) {
  EXPECT_EQ(batch_of({verify(0, 5, 3), prompt(1, 0, 20), verify(2, 9, 0)}).n_logit_rows(), 5);
}

TEST(CheckBatch, AcceptsABatchAtEveryLimit) {
  // 80 rows, 34 logit rows, the last position of the context, and the border at 128 touched from
  // both sides.
  check_batch(batch_of({verify(0, 268, 31), prompt(1, 81, 47), verify(2, 128, 0)}), small_runner());
}

// Aborts are the point: each batch below is a mistake of the engine, and the message names the
// rule.
struct BadBatch {
  const char* name;
  Batch batch;
  const char* rule;
};

std::vector<BadBatch> bad_batches() {
  Segment too_certain = verify(0, 5, 0);
  too_certain.n_certain = 2;
  Segment uncertain = verify(0, 5, 1);
  uncertain.n_certain = 0;
  Segment draft_in_prompt = verify(0, 5, 2);
  draft_in_prompt.wants_next = false;
  Batch short_tokens = batch_of({verify(0, 5, 2)});
  short_tokens.tokens.pop_back();
  Batch large_token = batch_of({verify(0, 5, 0)});
  large_token.tokens[0] = TokenId{10};
  Batch negative_token = batch_of({verify(0, 5, 0)});
  negative_token.tokens[0] = TokenId{-1};
  return {
      {"nothing to run", {}, "segments.empty"},
      {"81 rows", batch_of({prompt(0, 0, 41), prompt(1, 0, 40)}), "batch_rows_max"},
      {"35 logit rows", batch_of({verify(0, 0, 30), verify(1, 0, 3)}), "logit_rows_max"},
      {"no rows", batch_of({prompt(0, 0, 0)}), "n_rows >= 1"},
      {"more certain rows than rows", batch_of({too_certain}), "n_certain <= s.n_rows"},
      {"no certain row", batch_of({uncertain}), "n_certain >= 1"},
      {"32 drafts", batch_of({verify(0, 0, 32)}), "kDraftTokensMax"},
      {"drafts inside a prompt", batch_of({draft_in_prompt}), "wants_next"},
      {"a position below 0", batch_of({prompt(0, -1, 1)}), "position >= 0"},
      {"past the context", batch_of({verify(0, 299, 1)}), "context_tokens_max"},
      {"over a split border", batch_of({verify(0, 127, 1)}), "rows_until_split_change"},
      {"one state twice", batch_of({verify(0, 5, 0), verify(1, 7, 0), verify(0, 6, 0)}), "t.state"},
      {"fewer tokens than rows", short_tokens, "batch.n_rows"},
      {"a token past the vocabulary", large_token, "vocab_size"},
      {"a negative token", negative_token, "vocab_size"},
  };
}

TEST(CheckBatchDeathTest, AbortsOnEveryBrokenRule) {
  for (const BadBatch& bad : bad_batches()) {
    SCOPED_TRACE(bad.name);
    EXPECT_DEATH(check_batch(bad.batch, small_runner()), bad.rule);
  }
}

}  // namespace
}  // namespace slip
