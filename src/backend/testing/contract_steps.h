// Contract of forward, accept and truncate: how rows are cut into steps, what is drafted and who
// shares the batch leave no trace.
#pragma once

#include <algorithm>

#include "backend/split_rule.h"
#include "backend/testing/contract_fixture.h"

namespace slip::contract {

TEST_P(RunnerContract, PromptInChunksEqualsPromptInOneBatch) {
  const auto runner = make();
  const Tokens prompt = tokens(*runner, 1, 200);
  for (const StateOptions options : state_options(*runner)) {
    Driver whole(*runner, options);
    const Logits wanted = whole.read(prompt, kWhole);
    for (const int32_t chunk : {1, 7, 64}) {
      SCOPED_TRACE(testing::Message()
                   << "chunks of " << chunk << ", draft history " << options.keeps_draft_history);
      Driver chunked(*runner, options);
      EXPECT_TRUE(same_logits(chunked.read(prompt, chunk), wanted));
      EXPECT_TRUE(same_bytes(chunked.save(), whole.save()));
    }
  }
}

TEST_P(RunnerContract, PromptLengthsAroundBlockAndSplitBordersDoNotMatter) {
  const auto [options, border] = long_plan();
  const auto runner = make(options);
  for (const int32_t n_tokens : {kCacheBlockTokens - 1, kCacheBlockTokens, kCacheBlockTokens + 1,
                                 border - 1, border, border + 1}) {
    SCOPED_TRACE(testing::Message() << n_tokens << " tokens");
    const Tokens prompt = tokens(*runner, 2, n_tokens);
    Driver one_by_one(*runner);
    Driver whole(*runner);
    const Logits wanted = one_by_one.read(prompt, 1);
    EXPECT_TRUE(same_logits(whole.read(prompt, kWhole), wanted));
    EXPECT_TRUE(same_bytes(whole.save(), one_by_one.save()));
    const TokenId pending = greedy(wanted);
    EXPECT_TRUE(same_logits(whole.decode(pending, 3).logits.back(),
                            one_by_one.decode(pending, 3).logits.back()));
  }
}

TEST_P(RunnerContract, VerifyOfRightDraftsEqualsDecodingOneByOne) {
  const auto runner = make();
  for (const StateOptions options : state_options(*runner)) {
    const Start start = make_start(*runner, options, kSegmentRowsMax);
    for (size_t n_rows = 1; n_rows <= static_cast<size_t>(kSegmentRowsMax); ++n_rows) {
      SCOPED_TRACE(testing::Message()
                   << n_rows << " rows, draft history " << options.keeps_draft_history);
      Driver drafted = begin(*runner, options, start);
      const StepResult step =
          drafted.verify(start.pending, slice(start.plain.tokens, 0, n_rows - 1));
      EXPECT_EQ(step.verdicts[0].n_accepted, static_cast<int>(n_rows) - 1);
      EXPECT_EQ(step.verdicts[0].next, start.plain.tokens[n_rows - 1]);
      ASSERT_EQ(step.logits.size(), n_rows);
      for (size_t i = 0; i < n_rows; ++i) {
        EXPECT_TRUE(same_logits(step.logits[i], start.plain.logits[i])) << "row " << i;
      }
      EXPECT_TRUE(same_bytes(drafted.save(), start.plain.saved[n_rows - 1]));
    }
  }
}

TEST_P(RunnerContract, VerifyUpToASplitBorderEqualsDecodingOneByOne) {
  constexpr size_t kRowsAfter = 4;
  const auto [options, border] = long_plan();
  const auto runner = make(options);
  const Tokens prompt = tokens(*runner, 3, border - kSegmentRowsMax);
  Driver plain(*runner);
  const TokenId pending = greedy(plain.read(prompt, kWhole));
  const Plain wanted = plain.decode_and_save(pending, kSegmentRowsMax + kRowsAfter);

  Driver drafted(*runner);
  drafted.read(prompt, kWhole);
  const StepResult step = drafted.verify(pending, slice(wanted.tokens, 0, kDraftTokensMax));
  for (size_t i = 0; i < step.logits.size(); ++i) {
    EXPECT_TRUE(same_logits(step.logits[i], wanted.logits[i])) << "row " << i;
  }
  const Plain after = drafted.decode_and_save(wanted.tokens[kDraftTokensMax], kRowsAfter);
  for (size_t i = 0; i < kRowsAfter; ++i) {
    EXPECT_TRUE(same_logits(after.logits[i], wanted.logits[kSegmentRowsMax + i]))
        << "row after " << i;
    EXPECT_TRUE(same_bytes(after.saved[i], wanted.saved[kSegmentRowsMax + i])) << "row after " << i;
  }
}

// `n_right` right drafts, then `wrong`, then `tail` up to n_drafts; at n_right == n_drafts all are
// right.
inline Tokens drafts_with_error(const Start& start, size_t n_drafts, size_t n_right, TokenId wrong,
                                std::optional<TokenId> tail) {
  Tokens drafts = slice(start.plain.tokens, 0, n_drafts);
  if (n_right < n_drafts) drafts[n_right] = wrong;
  for (size_t i = n_right + 1; tail && i < n_drafts; ++i) drafts[i] = *tail;
  return drafts;
}

inline constexpr int kRowsAfterRejection = 40;

// `drafted` has verified `drafts`, of which n_right are right: the accepted part and all that
// follows is what `start` says.
inline void expect_no_trace(Driver& drafted, const Start& start, const Tokens& drafts,
                            size_t n_right) {
  const StepResult step = drafted.verify(start.pending, drafts);
  EXPECT_EQ(step.verdicts[0].n_accepted, static_cast<int>(n_right));
  EXPECT_EQ(step.verdicts[0].next, start.plain.tokens[n_right]);
  EXPECT_TRUE(step.verdicts[0].is_finite);
  for (size_t i = 0; i <= n_right; ++i) {
    EXPECT_TRUE(same_logits(step.logits[i], start.plain.logits[i])) << "row " << i;
  }
  EXPECT_TRUE(same_bytes(drafted.save(), start.plain.saved[n_right]));
  const Plain after = drafted.decode(start.plain.tokens[n_right], kRowsAfterRejection);
  EXPECT_EQ(after.tokens, slice(start.plain.tokens, n_right + 1, kRowsAfterRejection));
  for (size_t i = 0; i < after.logits.size(); ++i) {
    EXPECT_TRUE(same_logits(after.logits[i], start.plain.logits[n_right + 1 + i]))
        << "row after " << i;
  }
}

TEST_P(RunnerContract, RejectionAtAnyRowLeavesNoTrace) {
  const auto runner = make();
  for (const StateOptions options : state_options(*runner)) {
    const Start start = make_start(*runner, options, kSegmentRowsMax + kRowsAfterRejection);
    for (const size_t n_drafts : {1u, 2u, 5u, 31u}) {
      for (size_t n_right = 0; n_right <= n_drafts; ++n_right) {
        SCOPED_TRACE(testing::Message()
                     << n_right << " of " << n_drafts << " drafts right, history "
                     << options.keeps_draft_history);
        const TokenId wrong = other_than(*runner, start.plain.tokens[n_right]);
        Driver drafted = begin(*runner, options, start);
        expect_no_trace(drafted, start,
                        drafts_with_error(start, n_drafts, n_right, wrong, std::nullopt), n_right);
        if (HasFailure()) return;
      }
    }
  }
}

TEST_P(RunnerContract, RejectedRowsThatAreNotFiniteLeaveNoTrace) {
  if (!GetParam().poison) GTEST_SKIP() << "this model has no token that makes a row infinite";
  const TokenId poison = *GetParam().poison;
  const auto runner = make();
  for (const StateOptions options : state_options(*runner)) {
    const Start start = make_start(*runner, options, kSegmentRowsMax + kRowsAfterRejection);
    for (const size_t n_right : {0u, 1u, 13u, 14u, 30u}) {
      SCOPED_TRACE(testing::Message()
                   << n_right << " right drafts, history " << options.keeps_draft_history);
      Driver drafted = begin(*runner, options, start);
      expect_no_trace(drafted, start,
                      drafts_with_error(start, kDraftTokensMax, n_right, poison, poison), n_right);
      if (HasFailure()) return;
    }
  }
}

TEST_P(RunnerContract, VerdictSaysWhenTheDecidingRowIsNotFinite) {
  if (!GetParam().poison) GTEST_SKIP() << "this model has no token that makes a row infinite";
  const auto runner = make();
  Driver driver(*runner);
  driver.read(tokens(*runner, 4, 10), kWhole);
  EXPECT_FALSE(driver.verify(*GetParam().poison, {}).verdicts[0].is_finite);
}

TEST_P(RunnerContract, ManySpeculativeStepsEqualPlainDecoding) {
  constexpr size_t kTokens = 200;
  const auto runner = make();
  for (const StateOptions options : state_options(*runner)) {
    const Start start = make_start(*runner, options, kTokens + kSegmentRowsMax);
    const Tokens widths = random_tokens(*runner, 5, kTokens, TokenId{-1});
    Driver drafted = begin(*runner, options, start);
    TokenId pending = start.pending;
    size_t n_done = 0;
    for (size_t round = 0; n_done < kTokens; ++round) {
      const int32_t rows_left =
          rows_until_split_change(drafted.info().n_committed, runner->info().n_splits);
      const size_t n_drafts =
          std::min(index(widths[round]) % kSegmentRowsMax, static_cast<size_t>(rows_left - 1));
      const size_t n_right = index(widths[round + 1]) % (n_drafts + 1);
      Tokens drafts = slice(start.plain.tokens, n_done, n_drafts);
      if (n_right < n_drafts) drafts[n_right] = other_than(*runner, drafts[n_right]);
      const StepResult step = drafted.verify(pending, drafts);
      ASSERT_EQ(step.verdicts[0].n_accepted, static_cast<int>(n_right)) << "round " << round;
      ASSERT_TRUE(same_logits(step.logits[n_right], start.plain.logits[n_done + n_right]))
          << "round " << round;
      n_done += n_right + 1;
      pending = step.verdicts[0].next;
    }
    EXPECT_TRUE(same_bytes(drafted.save(), start.plain.saved[n_done - 1]));
  }
}

TEST_P(RunnerContract, AcceptFollowsTheRuleOnTheLogitsItShows) {
  const auto runner = make();
  Driver driver(*runner);
  TokenId pending = greedy(driver.read(tokens(*runner, 6, 30), kWhole));
  for (uint64_t round = 0; round < 8; ++round) {
    Tokens drafts = tokens(*runner, 100 + round, 3);
    const StepResult step = driver.verify(pending, drafts);
    size_t n = 0;
    while (n < drafts.size() && argmax(step.logits[n]) == drafts[n]) ++n;
    EXPECT_EQ(step.verdicts[0].n_accepted, static_cast<int>(n));
    EXPECT_EQ(step.verdicts[0].next, argmax(step.logits[n]));
    pending = step.verdicts[0].next;
  }
}

// Drafts drawn by the head where there is one, so that laws are at work; random ones otherwise.
TEST_P(RunnerContract, AcceptDrawsAsTheDefinitionDoes) {
  const auto runner = make();
  const int32_t vocab_size = runner->info().vocab_size;
  RowSampler sampler(vocab_size);
  std::vector<RowChoice> rows;
  const SamplingParams params[] = {
      {.shape = {.temperature = 1.5f}},
      {.shape = {.temperature = 0.8f, .top_p = 0.9f, .top_k = 12}},
      {.shape = {.temperature = 1.0f}, .rule = AcceptRule::kBlock},
  };
  for (const SamplingParams& p : params) {
    for (const Coupling coupling : {Coupling::kSeeded, Coupling::kRejection}) {
      const SequenceSampling sampling{.params = &p, .seed = 5, .coupling = coupling};
      Driver driver(*runner);
      TokenId pending = greedy(driver.read(tokens(*runner, 6, 30), kWhole));
      for (uint64_t round = 0; round < 4; ++round) {
        const Tokens drafts = tokens(*runner, 100 + round, 3);
        const int32_t position = driver.info().n_committed + 1;
        const StepResult step = driver.verify(pending, drafts, {.maybe_sampling = &sampling});
        Logits all;
        for (const Logits& logits : step.logits)
          all.insert(all.end(), logits.begin(), logits.end());
        const Verdict wanted = accept(
            sampler, all,
            {.maybe_sampling = &sampling, .position = position, .n_before = 0, .drafts = drafts},
            rows);
        EXPECT_EQ(step.verdicts[0].n_accepted, wanted.n_accepted);
        EXPECT_EQ(step.verdicts[0].next, wanted.next);
        pending = wanted.next;
      }
    }
  }
}

// After a verify of `drafts` and truncate to every legal count: like a state that never ran the
// dropped rows, at once and after other text has followed.
inline void expect_truncates(Runner& runner, StateOptions options, const Start& start,
                             const Tokens& drafts, const Tokens& turn) {
  const auto n_prompt = static_cast<int32_t>(start.prompt.size());
  for (int32_t n_kept = 1;; ++n_kept) {
    SCOPED_TRACE(testing::Message()
                 << n_kept << " rows kept, history " << options.keeps_draft_history);
    Driver saved(runner, options);
    Driver continued(runner, options);
    for (Driver* driver : {&saved, &continued}) {
      driver->read(start.prompt, runner.info().batch_rows_max);
      driver->verify(start.pending, drafts);
      if (driver->info().n_committed < n_prompt + n_kept) return;
      driver->truncate(n_prompt + n_kept);
    }
    EXPECT_EQ(saved.info().n_committed, n_prompt + n_kept);
    EXPECT_TRUE(same_bytes(saved.save(), start.plain.saved[static_cast<size_t>(n_kept) - 1]));

    Driver plain(runner, options);
    plain.read(start.prompt, runner.info().batch_rows_max);
    plain.decode(start.pending, n_kept);
    EXPECT_TRUE(same_logits(continued.read(turn, 5), plain.read(turn, 5)));
    EXPECT_TRUE(same_bytes(continued.save(), plain.save()));
  }
}

TEST_P(RunnerContract, TruncatedRowsLeaveNoTrace) {
  const auto runner = make();
  const Tokens turn = tokens(*runner, 7, 20);
  for (const StateOptions options : state_options(*runner)) {
    const Start start = make_start(*runner, options, 17);
    expect_truncates(*runner, options, start, slice(start.plain.tokens, 0, 16), turn);
  }
}

TEST_P(RunnerContract, TruncateAfterARejectionLeavesNoTrace) {
  const auto runner = make();
  const Tokens turn = tokens(*runner, 8, 20);
  for (const StateOptions options : state_options(*runner)) {
    const Start start = make_start(*runner, options, 17);
    const TokenId wrong = other_than(*runner, start.plain.tokens[6]);
    expect_truncates(*runner, options, start, drafts_with_error(start, 16, 6, wrong, std::nullopt),
                     turn);
  }
}

// One step of eight neighbours: verify segments with random and with right drafts, turns of known
// text, prompts with more to follow.
struct Neighbour {
  Driver together, alone;
  TokenId pending{};
};

TEST_P(RunnerContract, NeighboursInABatchDoNotMatter) {
  constexpr size_t kNeighbours = 8;
  const auto batched = make();
  const auto single = make();
  const Tokens random = random_tokens(*batched, 9, 200, TokenId{-1});
  size_t next_random = 0;
  const auto below = [&](int32_t n) {
    return static_cast<int32_t>(index(random[next_random++])) % n;
  };
  const int32_t rows_max =
      std::min({batched->info().batch_rows_max, batched->info().logit_rows_max, 256}) / 8;

  std::vector<Neighbour> neighbours;
  for (size_t i = 0; i < kNeighbours; ++i) {
    neighbours.push_back({.together = Driver(*batched), .alone = Driver(*single)});
    const Tokens prompt = tokens(*batched, 200 + i, 1 + below(120));
    neighbours[i].together.read(prompt, kWhole);
    neighbours[i].pending = greedy(neighbours[i].alone.read(prompt, kWhole));
  }
  for (uint64_t round = 0; round < 4; ++round) {
    std::vector<Rows> rows;
    for (size_t i = 0; i < kNeighbours; ++i) {
      Neighbour& n = neighbours[i];
      const int32_t n_rows = std::min(
          1 + below(std::min(rows_max, kSegmentRowsMax)),
          rows_until_split_change(n.together.info().n_committed, batched->info().n_splits));
      const size_t n_drafts = static_cast<size_t>(n_rows) - 1;
      Rows& mine = rows.emplace_back(Rows{.state = n.together.state(), .tokens = {n.pending}});
      Tokens more = tokens(*batched, 1000 * round + i, n_rows - 1);
      if (i % 3 == 0) more = slice(n.alone.fork().decode(n.pending, n_rows).tokens, 0, n_drafts);
      if (i % 3 == 1) mine.n_certain = n_rows;
      if (i % 3 == 1 && round % 2 == 0) mine.wants_next = false;
      mine.tokens.insert(mine.tokens.end(), more.begin(), more.end());
    }
    const StepResult together = run_step(*batched, rows);
    size_t logit_row = 0;
    for (size_t i = 0; i < kNeighbours; ++i) {
      SCOPED_TRACE(testing::Message() << "round " << round << ", neighbour " << i);
      rows[i].state = neighbours[i].alone.state();
      const StepResult alone = run_step(*single, std::span(rows).subspan(i, 1));
      EXPECT_EQ(together.verdicts[i].n_accepted, alone.verdicts[0].n_accepted);
      for (const Logits& logits : alone.logits) {
        EXPECT_TRUE(same_logits(together.logits[logit_row++], logits));
      }
      neighbours[i].pending = rows[i].wants_next ? alone.verdicts[0].next : TokenId{5};
      EXPECT_TRUE(same_bytes(neighbours[i].together.save(), neighbours[i].alone.save()));
    }
  }
}

// More rows than a runner may work on at once.
TEST_P(RunnerContract, LargeBatchEqualsSmallOnes) {
  constexpr int32_t kSequences = 3;
  RunnerOptions options = small_plan();
  options.batch_rows_max = 450;
  const auto runner = make(options);
  const int32_t n_rows = std::min(runner->info().batch_rows_max / kSequences,
                                  rows_until_split_change(0, runner->info().n_splits));
  std::vector<Driver> together;
  std::vector<Rows> rows;
  for (uint64_t i = 0; i < kSequences; ++i) {
    together.emplace_back(*runner);
    rows.push_back({.state = together[i].state(),
                    .tokens = tokens(*runner, 60 + i, n_rows),
                    .n_certain = n_rows});
  }
  const StepResult step = run_step(*runner, rows);
  for (size_t i = 0; i < kSequences; ++i) {
    Driver alone(*runner);
    EXPECT_TRUE(same_logits(step.logits[i], alone.read(rows[i].tokens, 32))) << "sequence " << i;
    EXPECT_TRUE(same_bytes(together[i].save(), alone.save())) << "sequence " << i;
  }
}

// Beyond the first split border, since only there the number of splits shows.
TEST_P(RunnerContract, NumberOfThreadsDoesNotMatter) {
  const LongPlan plan = long_plan();
  const auto trace = [&](int n_threads) {
    RunnerOptions options = plan.options;
    options.n_threads = n_threads;
    const auto runner = make(options);
    Driver driver(*runner);
    std::vector<Logits> logits = {driver.read(tokens(*runner, 10, 150), 100),
                                  driver.read(tokens(*runner, 12, plan.split_border - 120), 100)};
    StepResult step = driver.verify(greedy(logits.back()), tokens(*runner, 11, 12));
    const TokenId pending = step.verdicts[0].next;
    std::ranges::move(step.logits, std::back_inserter(logits));
    std::ranges::move(driver.decode(pending, 5).logits, std::back_inserter(logits));
    return logits;
  };
  const std::vector<Logits> wanted = trace(1);
  for (const int n_threads : {2, 3}) {
    const std::vector<Logits> found = trace(n_threads);
    ASSERT_EQ(found.size(), wanted.size());
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_TRUE(same_logits(found[i], wanted[i])) << n_threads << " threads, row " << i;
    }
  }
}

}  // namespace slip::contract
