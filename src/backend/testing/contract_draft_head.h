// Contract of draft: proposals are a function of the committed text and the pending token, and
// asking for them changes nothing.
#pragma once

#include <algorithm>

#include "backend/split_rule.h"
#include "backend/testing/contract_fixture.h"
#include "sample/distribution.h"

namespace slip::contract {

class RunnerDraftContract : public RunnerContract {
 protected:
  static constexpr StateOptions kHistory = {.keeps_draft_history = true};
  static constexpr int kDrafts = 5;

  static testing::AssertionResult same_draft(const Drafted& found, const Drafted& wanted) {
    if (found.tokens != wanted.tokens) {
      return testing::AssertionFailure() << "tokens " << testing::PrintToString(found.tokens)
                                         << ", wanted " << testing::PrintToString(wanted.tokens);
    }
    return same_logits(found.last_logits, wanted.last_logits);
  }
};

TEST_P(RunnerDraftContract, DraftingChangesNoCommittedByteAndNoLaterLogits) {
  const auto runner = make();
  const Start start = make_start(*runner, kHistory, 12);
  Driver driver = begin(*runner, kHistory, start);
  TokenId pending = start.pending;
  for (size_t i = 0; i < 12; ++i) {
    const Bytes before = driver.save();
    driver.draft(pending, 1 + static_cast<int>(3 * i) % kDraftTokensMax);
    EXPECT_TRUE(same_bytes(driver.save(), before)) << "row " << i;
    EXPECT_TRUE(same_logits(driver.decode(pending, 1).logits[0], start.plain.logits[i]))
        << "row " << i;
    EXPECT_TRUE(same_bytes(driver.save(), start.plain.saved[i])) << "row " << i;
    pending = start.plain.tokens[i];
  }
}

TEST_P(RunnerDraftContract, DraftingTwiceGivesTheSameDraft) {
  const auto runner = make();
  const Start start = make_start(*runner, kHistory, 1);
  Driver driver = begin(*runner, kHistory, start);
  const Drafted first = driver.draft(start.pending, kDrafts);
  driver.draft(other_than(*runner, start.pending), 9);
  EXPECT_TRUE(same_draft(driver.draft(start.pending, kDrafts), first));
}

TEST_P(RunnerDraftContract, LongerDraftBeginsWithTheShorterOne) {
  const auto runner = make();
  const Start start = make_start(*runner, kHistory, 1);
  Driver driver = begin(*runner, kHistory, start);
  const Tokens longest = driver.draft(start.pending, kDraftTokensMax).tokens;
  for (int n = 1; n < kDraftTokensMax; ++n) {
    EXPECT_EQ(driver.draft(start.pending, n).tokens, slice(longest, 0, static_cast<size_t>(n)));
  }
}

// Where a run may end is told by the logits of shorter runs.
TEST_P(RunnerDraftContract, DraftEndsBehindTheTokenAtWhichItsReachFalls) {
  const auto runner = make();
  const Start start = make_start(*runner, kHistory, 1);
  Driver driver = begin(*runner, kHistory, start);
  const Drafted whole = driver.draft(start.pending, kDrafts);
  ASSERT_EQ(whole.tokens.size(), static_cast<size_t>(kDrafts));
  double reach = 1;
  for (int n = 1; n < kDrafts; ++n) {
    const Drafted shorter = driver.draft(start.pending, n);
    reach *= top_probability(shorter.last_logits);
    // Just below the chain may go on, just above it ends here.
    const Drafted ended = driver.draft(start.pending, kDrafts, reach * (1 + 1e-6));
    EXPECT_TRUE(same_draft(ended, shorter)) << n << " tokens";
    EXPECT_GT(driver.draft(start.pending, kDrafts, reach * (1 - 1e-6)).tokens.size(),
              shorter.tokens.size());
  }
}

TEST_P(RunnerDraftContract, HistoryKeepsNothingFromTheLogits) {
  const auto runner = make();
  const Start with = make_start(*runner, kHistory, 20);
  const Start without = make_start(*runner, {}, 20);
  EXPECT_EQ(with.plain.tokens, without.plain.tokens);
  EXPECT_TRUE(same_logits(with.plain.logits.back(), without.plain.logits.back()));
}

TEST_P(RunnerDraftContract, DraftDoesNotDependOnHowThePromptWasCut) {
  const auto runner = make();
  for (const int32_t n_tokens : {1, 2, 33, 64, 65, 150}) {
    const Tokens prompt = tokens(*runner, 40, n_tokens);
    Driver whole(*runner, kHistory);
    const TokenId pending = greedy(whole.read(prompt, kWhole));
    const Drafted wanted = whole.draft(pending, kDrafts);
    for (const int32_t chunk : {1, 7, 64}) {
      Driver chunked(*runner, kHistory);
      chunked.read(prompt, chunk);
      EXPECT_TRUE(same_draft(chunked.draft(pending, kDrafts), wanted))
          << n_tokens << " tokens in chunks of " << chunk;
    }
  }
}

TEST_P(RunnerDraftContract, DraftAfterRejectionEqualsDraftAfterPlainDecoding) {
  constexpr size_t kVerified = 9;
  const auto runner = make();
  const Start start = make_start(*runner, kHistory, kVerified + 1);
  for (size_t n_right = 0; n_right <= kVerified; ++n_right) {
    for (const bool has_drafted : {false, true}) {
      Driver plain = begin(*runner, kHistory, start);
      plain.decode(start.pending, static_cast<int>(n_right) + 1);
      const TokenId pending = start.plain.tokens[n_right];
      Driver drafted = begin(*runner, kHistory, start);
      if (has_drafted) drafted.draft(start.pending, kVerified);
      Tokens drafts = slice(start.plain.tokens, 0, kVerified);
      if (n_right < kVerified) drafts[n_right] = other_than(*runner, drafts[n_right]);
      drafted.verify(start.pending, drafts);
      EXPECT_TRUE(same_draft(drafted.draft(pending, kDrafts), plain.draft(pending, kDrafts)))
          << n_right << " right, drafted " << has_drafted;
    }
  }
}

// A runner may put the head's history off until somebody asks, and has to catch up some time.
TEST_P(RunnerDraftContract, AHeadThatWasNotAskedForLongDraftsAsIfItHadBeen) {
  constexpr int kSteps = 140;
  const auto runner = make();
  const Start start = make_start(*runner, kHistory, 1);
  Driver idle = begin(*runner, kHistory, start);
  Driver busy = begin(*runner, kHistory, start);
  TokenId pending = start.pending;
  for (int n = 1; n <= kSteps; ++n) {
    busy.decode(pending, 1);
    pending = idle.decode(pending, 1).tokens[0];
    const Drafted wanted = busy.draft(pending, 2);
    if (n < 100) continue;
    Driver fork = idle.fork();
    EXPECT_TRUE(same_draft(fork.draft(pending, 2), wanted)) << n << " steps";
    EXPECT_TRUE(same_bytes(fork.save(), busy.save())) << n << " steps";
  }
}

TEST_P(RunnerDraftContract, DraftAfterTruncateEqualsDraftAfterPlainDecoding) {
  const auto runner = make();
  const Start start = make_start(*runner, kHistory, 10);
  const auto n_prompt = static_cast<int32_t>(start.prompt.size());
  for (int32_t n_kept = 1; n_kept <= 10; ++n_kept) {
    Driver plain = begin(*runner, kHistory, start);
    plain.decode(start.pending, n_kept);
    Driver truncated = begin(*runner, kHistory, start);
    truncated.verify(start.pending, slice(start.plain.tokens, 0, 9));
    truncated.truncate(n_prompt + n_kept);
    const TokenId pending =
        other_than(*runner, start.plain.tokens[static_cast<size_t>(n_kept) - 1]);
    EXPECT_TRUE(same_draft(truncated.draft(pending, kDrafts), plain.draft(pending, kDrafts)))
        << n_kept << " rows kept";
  }
}

// The head ran ahead of one token and another one comes: what it noted for the first is void, in a
// fork as well.
TEST_P(RunnerDraftContract, DraftAheadOfATokenThatDoesNotComeLeavesNoTrace) {
  const auto runner = make();
  const Start start = make_start(*runner, kHistory, 2);
  Driver original = begin(*runner, kHistory, start);
  original.draft(other_than(*runner, start.pending), kDrafts);
  Driver fork = original.fork();
  for (Driver* driver : {&original, &fork}) {
    const Plain after = driver->decode_and_save(start.pending, 2);
    EXPECT_TRUE(same_bytes(after.saved[0], start.plain.saved[0]));
    EXPECT_TRUE(same_bytes(after.saved[1], start.plain.saved[1]));
  }
}

TEST_P(RunnerDraftContract, TruncateAfterADraftLeavesNoTrace) {
  const auto runner = make();
  const Start start = make_start(*runner, kHistory, 10);
  const Tokens turn = tokens(*runner, 41, 12);
  const auto n_prompt = static_cast<int32_t>(start.prompt.size());
  for (int32_t n_kept = 1; n_kept <= 10; ++n_kept) {
    Driver plain = begin(*runner, kHistory, start);
    plain.decode(start.pending, n_kept);
    Driver truncated = begin(*runner, kHistory, start);
    truncated.verify(start.pending, slice(start.plain.tokens, 0, 9));
    truncated.draft(start.plain.tokens[9], kDrafts);
    truncated.truncate(n_prompt + n_kept);
    EXPECT_TRUE(same_logits(truncated.read(turn, 5), plain.read(turn, 5)))
        << n_kept << " rows kept";
    EXPECT_TRUE(same_bytes(truncated.save(), plain.save())) << n_kept << " rows kept";
  }
}

TEST_P(RunnerDraftContract, DraftAfterRowsThatAreNotFiniteEqualsDraftAfterPlainDecoding) {
  if (!GetParam().poison) GTEST_SKIP() << "this model has no token that makes a row infinite";
  const auto runner = make();
  const Start start = make_start(*runner, kHistory, 1);
  Driver plain = begin(*runner, kHistory, start);
  plain.decode(start.pending, 1);
  Driver drafted = begin(*runner, kHistory, start);
  drafted.verify(start.pending, Tokens(kDraftTokensMax, *GetParam().poison));
  const TokenId pending = start.plain.tokens[0];
  EXPECT_TRUE(
      same_draft(drafted.draft(pending, kDraftTokensMax), plain.draft(pending, kDraftTokensMax)));
}

TEST_P(RunnerDraftContract, DraftContinuesInAForkAndInALoadedCopy) {
  const auto runner = make();
  const Start start = make_start(*runner, kHistory, 12);
  for (const size_t n_drafts : {0u, 7u}) {  // at 7 accepted rows wait to be looked at
    Driver original = begin(*runner, kHistory, start);
    original.verify(start.pending, slice(start.plain.tokens, 0, n_drafts));
    const TokenId pending = start.plain.tokens[n_drafts];
    Driver fork = original.fork();
    const auto fresh = make();
    Driver loaded = Driver::adopt(*fresh, fresh->load(original.save()).value());
    const Drafted wanted = original.draft(pending, kDrafts);
    EXPECT_TRUE(same_draft(fork.draft(pending, kDrafts), wanted)) << n_drafts << " drafts, fork";
    EXPECT_TRUE(same_draft(loaded.draft(pending, kDrafts), wanted)) << n_drafts << " drafts, copy";
  }
}

TEST_P(RunnerDraftContract, RequestsOfOneCallDoNotMatterToEachOther) {
  const auto runner = make();
  std::vector<Driver> drivers;
  std::vector<TokenId> pending;
  std::vector<Drafted> wanted;
  for (uint64_t i = 0; i < 4; ++i) {
    drivers.emplace_back(*runner, kHistory);
    pending.push_back(
        greedy(drivers[i].read(tokens(*runner, 50 + i, 1 + 37 * static_cast<int32_t>(i)), kWhole)));
    wanted.push_back(drivers[i].draft(pending[i], 1 + 6 * static_cast<int>(i)));
  }
  std::vector<Tokens> found;
  for (const Drafted& drafted : wanted) found.emplace_back(drafted.tokens.size());
  std::vector<DraftRequest> requests;
  for (size_t i = 0; i < 4; ++i) {
    requests.push_back({.state = drivers[i].state(), .pending = pending[i], .out = found[i]});
  }
  runner->draft(requests);
  for (size_t i = 0; i < 4; ++i) {
    Drafted drafted{.tokens = found[i], .last_logits = Logits(wanted[i].last_logits.size())};
    EXPECT_EQ(found[i], wanted[i].tokens) << "request " << i;
    if (i < 3) continue;  // logits stay readable for the longest request of a run only
    runner->read_draft_logits(static_cast<int32_t>(i), drafted.last_logits);
    EXPECT_TRUE(same_draft(drafted, wanted[i])) << "request " << i;
  }
}

TEST_P(RunnerDraftContract, SpeculatingWithTheHeadEqualsPlainDecoding) {
  constexpr size_t kTokens = 100;
  const auto runner = make();
  const Start start = make_start(*runner, kHistory, kTokens + kSegmentRowsMax);
  Driver driver = begin(*runner, kHistory, start);
  TokenId pending = start.pending;
  size_t n_done = 0;
  for (size_t round = 0; n_done < kTokens; ++round) {
    const int32_t rows_left =
        rows_until_split_change(driver.info().n_committed, runner->info().n_splits);
    const int32_t n_drafts = std::min(static_cast<int32_t>(round % 8), rows_left - 1);
    const Tokens drafts = n_drafts > 0 ? driver.draft(pending, n_drafts).tokens : Tokens{};
    const StepResult step = driver.verify(pending, drafts);
    for (size_t i = 0; i <= static_cast<size_t>(step.verdicts[0].n_accepted); ++i, ++n_done) {
      ASSERT_TRUE(same_logits(step.logits[i], start.plain.logits[n_done])) << "token " << n_done;
    }
    pending = step.verdicts[0].next;
  }
  EXPECT_TRUE(same_bytes(driver.save(), start.plain.saved[n_done - 1]));
}

}  // namespace slip::contract
