#include "engine/batch_builder.h"

#include <random>

#include <gtest/gtest.h>

namespace slip {
namespace {

constexpr BatchLimits kRoomy{.batch_rows_max = 256,
                             .logit_rows_max = 256,
                             .prompt_rows_max = 256,
                             .context_tokens_max = 4096,
                             .n_splits = 16};  // the split length changes every 1024 tokens

const std::vector<TokenId> kTokens(2000, TokenId{1});

std::span<const TokenId> tokens(size_t n) { return std::span(kTokens).first(n); }

SequenceRows prompt(int32_t position, size_t n_known) {
  return {.state = StateId{0},
          .position = position,
          .known = tokens(n_known),
          .draft = {},
          .n_remaining = 100};
}

SequenceRows decoding(int32_t position, size_t n_drafts) {
  return {.state = StateId{1},
          .position = position,
          .known = tokens(1),
          .draft = tokens(n_drafts),
          .n_remaining = 100};
}

BatchPlan plan(const std::vector<SequenceRows>& sequences, const BatchLimits& limits) {
  BatchPlan result;
  build_batch(sequences, limits, result);
  return result;
}

RowShare share_of_one(const SequenceRows& sequence, const BatchLimits& limits) {
  return plan({sequence}, limits).shares[0];
}

TEST(BuildBatch, LaysCertainTokensBeforeDrafts) {
  const std::vector<TokenId> known{TokenId{3}, TokenId{4}};
  const std::vector<TokenId> draft{TokenId{5}};
  const Batch batch =
      plan(
          {{.state = StateId{7}, .position = 10, .known = known, .draft = draft, .n_remaining = 9}},
          kRoomy)
          .batch;
  EXPECT_EQ(batch.tokens, (std::vector<TokenId>{TokenId{3}, TokenId{4}, TokenId{5}}));
  ASSERT_EQ(batch.segments.size(), 1u);
  EXPECT_EQ(batch.segments[0].state, StateId{7});
  EXPECT_EQ(batch.segments[0].position, 10);
  EXPECT_EQ(batch.segments[0].n_rows, 3);
  EXPECT_EQ(batch.segments[0].n_certain, 2);
}

TEST(BuildBatch, WantsTheNextTokenOnlyBehindTheLastKnownOne) {
  BatchLimits limits = kRoomy;
  limits.prompt_rows_max = 40;
  EXPECT_FALSE(plan({prompt(0, 41)}, limits).batch.segments[0].wants_next);
  EXPECT_TRUE(plan({prompt(0, 40)}, limits).batch.segments[0].wants_next);
}

TEST(BuildBatch, ChunksAPromptByPromptRows) {
  BatchLimits limits = kRoomy;
  limits.prompt_rows_max = 50;
  EXPECT_EQ(share_of_one(prompt(0, 200), limits).n_certain, 50);
}

TEST(BuildBatch, ChunksAPromptAtAChangeOfSplitLength) {
  EXPECT_EQ(share_of_one(prompt(1000, 200), kRoomy).n_certain, 24);
}

TEST(BuildBatch, ChunksAPromptByBatchRows) {
  BatchLimits limits = kRoomy;
  limits.batch_rows_max = 30;
  EXPECT_EQ(share_of_one(prompt(0, 200), limits).n_certain, 30);
}

TEST(BuildBatch, GivesNoDraftsToAPromptThatDoesNotFitWhole) {
  SequenceRows s = prompt(0, 200);
  s.draft = tokens(5);
  BatchLimits limits = kRoomy;
  limits.prompt_rows_max = 199;
  EXPECT_EQ(share_of_one(s, limits).n_drafts, 0);
  limits.prompt_rows_max = 200;
  EXPECT_EQ(share_of_one(s, limits).n_drafts, 5);
}

// One limit at a time shortens a draft of 31 or more tokens.
struct DraftCase {
  const char* name;
  int32_t position;
  size_t n_proposed;
  int32_t n_remaining;
  int32_t batch_rows_max;
  int32_t logit_rows_max;
  int32_t n_wanted;
};

constexpr DraftCase kDraftCases[] = {
    {"nothing in the way", 0, 20, 100, 256, 256, 20},
    {"segment length", 0, 40, 100, 256, 256, 31},
    {"split border", 1020, 31, 100, 256, 256, 3},
    {"last row before the split border", 1023, 31, 100, 256, 256, 0},
    {"end of the context", 4090, 31, 100, 256, 256, 5},
    {"rows of the batch", 0, 31, 100, 12, 256, 11},
    {"logit rows", 0, 31, 100, 256, 9, 8},
    {"tokens still wanted", 0, 31, 7, 256, 256, 6},
    {"one token still wanted", 0, 31, 1, 256, 256, 0},
};

TEST(BuildBatch, ShortensADraftByEachLimit) {
  for (const DraftCase& c : kDraftCases) {
    SCOPED_TRACE(c.name);
    BatchLimits limits = kRoomy;
    limits.batch_rows_max = c.batch_rows_max;
    limits.logit_rows_max = c.logit_rows_max;
    SequenceRows s = decoding(c.position, c.n_proposed);
    s.n_remaining = c.n_remaining;
    EXPECT_EQ(share_of_one(s, limits).n_drafts, c.n_wanted);
  }
}

TEST(BuildBatch, DecodingGetsItsRowBeforeAnOlderPrompt) {
  BatchLimits limits = kRoomy;
  limits.batch_rows_max = 10;
  const BatchPlan p = plan({prompt(0, 200), decoding(5, 0)}, limits);
  EXPECT_EQ(p.shares[1].n_certain, 1);
  EXPECT_EQ(p.shares[0].n_certain, 9);
}

TEST(BuildBatch, DraftsNeverPushOutAnotherSequencesRow) {
  BatchLimits limits = kRoomy;
  limits.batch_rows_max = 20;
  const BatchPlan p = plan({decoding(5, 31), decoding(5, 31)}, limits);
  EXPECT_EQ(p.shares[0].n_drafts, 18);
  EXPECT_EQ(p.shares[1].n_certain, 1);
}

TEST(BuildBatch, DraftsLeaveARowToThePromptBehindThem) {
  BatchLimits limits = kRoomy;
  limits.batch_rows_max = 16;
  const BatchPlan p = plan({decoding(5, 31), prompt(0, 200)}, limits);
  EXPECT_EQ(p.shares[0].n_drafts, 14);
  EXPECT_EQ(p.shares[1].n_certain, 1);
}

TEST(BuildBatch, DraftsLeaveALogitRowToThePromptBehindThem) {
  BatchLimits limits = kRoomy;
  limits.logit_rows_max = 16;
  const BatchPlan p = plan({decoding(5, 31), prompt(0, 20)}, limits);
  EXPECT_EQ(p.shares[0].n_drafts, 14);
  EXPECT_EQ(p.shares[1].n_certain, 20);
}

TEST(BuildBatch, APromptStopsBeforeItsLastTokenWhereNoLogitRowIsLeft) {
  BatchLimits limits = kRoomy;
  limits.logit_rows_max = 2;
  SequenceRows first = prompt(0, 20);
  first.draft = tokens(5);
  const BatchPlan p = plan({first, prompt(0, 30)}, limits);
  EXPECT_EQ(p.shares[0].n_drafts, 1);
  EXPECT_EQ(p.shares[1].n_certain, 29);
}

TEST(BuildBatch, APromptWithoutRowsHasNoSegment) {
  BatchLimits limits = kRoomy;
  limits.prompt_rows_max = 30;
  const BatchPlan p = plan({prompt(0, 200), prompt(0, 200), decoding(9, 0)}, limits);
  EXPECT_EQ(p.shares[1].n_certain, 0);
  ASSERT_EQ(p.batch.segments.size(), 2u);
  EXPECT_EQ(p.batch.segments[1].position, 9);
}

// Any mixture of sequences gives a batch that a runner takes, and every decoding sequence a row.
TEST(BuildBatch, RandomMixturesKeepEveryRule) {
  std::mt19937 random(20240);
  const auto pick = [&](int32_t low, int32_t high) {
    return std::uniform_int_distribution<int32_t>(low, high)(random);
  };
  for (int round = 0; round < 3000; ++round) {
    RunnerInfo info;
    info.vocab_size = 2;
    info.context_tokens_max = 4096;
    info.batch_rows_max = pick(4, 80);
    info.logit_rows_max = pick(4, 40);
    info.n_splits = pick(1, 4);
    const BatchLimits limits{.batch_rows_max = info.batch_rows_max,
                             .logit_rows_max = info.logit_rows_max,
                             .prompt_rows_max = pick(1, 60),
                             .context_tokens_max = info.context_tokens_max,
                             .n_splits = info.n_splits};
    std::vector<SequenceRows> sequences(static_cast<size_t>(pick(1, 4)));
    for (size_t i = 0; i < sequences.size(); ++i) {
      const auto n_known = static_cast<size_t>(pick(0, 1) == 0 ? 1 : pick(2, 90));
      sequences[i] = {.state = StateId{static_cast<int32_t>(i)},
                      .position = pick(0, 4000),
                      .known = tokens(n_known),
                      .draft = tokens(static_cast<size_t>(pick(0, 31))),
                      .n_remaining = pick(1, 40)};
    }
    const BatchPlan p = plan(sequences, limits);
    check_batch(p.batch, info);
    for (size_t i = 0; i < sequences.size(); ++i) {
      const bool is_decoding = sequences[i].known.size() == 1;
      ASSERT_TRUE(!is_decoding || p.shares[i].n_certain == 1) << "round " << round;
      ASSERT_LT(p.shares[i].n_drafts, sequences[i].n_remaining) << "round " << round;
    }
  }
}

}  // namespace
}  // namespace slip
