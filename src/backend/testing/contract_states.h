// Contract of open, close, fork, reserve, save and load: a state is its tokens, wherever it came
// from, within the plan.
#pragma once

#include <algorithm>
#include <array>

#include "backend/testing/contract_fixture.h"
#include "base/error.h"
#include "base/hash.h"

namespace slip::contract {

TEST_P(RunnerContract, StateInfoCountsAndHashesTheCommittedTokens) {
  const auto runner = make();
  const Start start = make_start(*runner, {}, 4);
  Driver rejecting = begin(*runner, {}, start);
  Driver accepting = begin(*runner, {}, start);
  EXPECT_EQ(rejecting.info().token_hash, accepting.info().token_hash);
  rejecting.verify(start.pending, {other_than(*runner, start.plain.tokens[0])});
  accepting.verify(start.pending, {start.plain.tokens[0]});
  const auto n_prompt = static_cast<int32_t>(start.prompt.size());
  EXPECT_EQ(rejecting.info().n_committed, n_prompt + 1);
  EXPECT_EQ(accepting.info().n_committed, n_prompt + 2);
  Tokens text = start.prompt;
  text.push_back(start.pending);
  EXPECT_EQ(rejecting.info().token_hash, hash_tokens(text));
  text.push_back(start.plain.tokens[0]);
  EXPECT_EQ(accepting.info().token_hash, hash_tokens(text));
  rejecting.decode(start.plain.tokens[0], 1);
  EXPECT_EQ(rejecting.info().token_hash, hash_tokens(text));
}

TEST_P(RunnerContract, ForkThenDifferentTextEqualsTwoStates) {
  const auto runner = make();
  for (const StateOptions options : state_options(*runner)) {
    for (const int32_t n_tokens : {1, 63, 64, 65, 101}) {
      SCOPED_TRACE(testing::Message()
                   << "fork at " << n_tokens << ", draft history " << options.keeps_draft_history);
      const Tokens prompt = tokens(*runner, 20, n_tokens);
      const std::array turns = {tokens(*runner, 21, 70), tokens(*runner, 22, 70)};
      Driver original(*runner, options);
      original.read(prompt, kWhole);
      Driver copy = original.fork();
      EXPECT_TRUE(same_bytes(copy.save(), original.save()));

      const std::array forked = {&original, &copy};
      std::array<Logits, 2> last;
      for (size_t begin = 0; begin < 70;
           begin += 10) {  // in turns, so that shared memory would show
        for (size_t i : {0u, 1u}) last[i] = forked[i]->read(slice(turns[i], begin, 10), 10);
      }
      for (size_t i : {0u, 1u}) {
        Driver separate(*runner, options);
        separate.read(prompt, kWhole);
        EXPECT_TRUE(same_logits(last[i], separate.read(turns[i], 10))) << "fork " << i;
        EXPECT_TRUE(same_bytes(forked[i]->save(), separate.save())) << "fork " << i;
      }
    }
  }
}

TEST_P(RunnerContract, ForkAfterAnAcceptEqualsItsOriginal) {
  const auto runner = make();
  for (const StateOptions options : state_options(*runner)) {
    const Start start = make_start(*runner, options, 40);
    Driver original = begin(*runner, options, start);
    Tokens drafts = slice(start.plain.tokens, 0, 9);
    drafts[5] = other_than(*runner, drafts[5]);
    original.verify(start.pending, drafts);
    Driver copy = original.fork();  // before anything has looked at the accepted rows
    for (Driver* driver : {&copy, &original}) {
      const Plain after = driver->decode_and_save(start.plain.tokens[5], 20);
      EXPECT_TRUE(same_logits(after.logits.back(), start.plain.logits[25]));
      EXPECT_TRUE(same_bytes(after.saved.back(), start.plain.saved[25]));
    }
  }
}

TEST_P(RunnerContract, ForksShareABatch) {
  const auto runner = make();
  const Start start = make_start(*runner, {}, 20);
  Driver original = begin(*runner, {}, start);
  Driver copy = original.fork();
  Tokens right = {start.pending};
  for (size_t i = 0; i < 12; ++i) right.push_back(start.plain.tokens[i]);
  Tokens wrong = right;
  wrong[4] = other_than(*runner, wrong[4]);
  const StepResult step =
      run_step(*runner, std::vector<Rows>{{.state = original.state(), .tokens = wrong},
                                          {.state = copy.state(), .tokens = right}});
  EXPECT_EQ(step.verdicts[0].n_accepted, 3);
  EXPECT_EQ(step.verdicts[1].n_accepted, 12);
  EXPECT_TRUE(same_bytes(original.save(), start.plain.saved[3]));
  EXPECT_TRUE(same_bytes(copy.save(), start.plain.saved[12]));
}

TEST_P(RunnerContract, ForkOfAForkOutlivesItsAncestors) {
  const auto runner = make();
  const Start start = make_start(*runner, {}, 40);
  Driver first = begin(*runner, {}, start);
  Driver second = first.fork();
  second.decode(start.pending, 10);
  Driver third = second.fork();
  first.close();
  second.close();
  Driver other(*runner);  // takes what the ancestors gave back
  other.read(tokens(*runner, 23, 150), kWhole);
  const Plain after = third.decode_and_save(start.plain.tokens[9], 20);
  EXPECT_TRUE(same_logits(after.logits.back(), start.plain.logits[29]));
  EXPECT_TRUE(same_bytes(after.saved.back(), start.plain.saved[29]));
}

inline constexpr int32_t kLongContext = 32768;

inline RunnerOptions two_context_plan(int32_t states_max) {
  return {.n_threads = 1,
          .context_tokens_max = kLongContext,
          .cache_tokens_max = 2 * kLongContext,
          .states_max = states_max,
          .batch_rows_max = 256,
          .kernels = {}};
}

// States that get room for a whole context, all alive at once.
inline int count_full_contexts(Runner& runner) {
  std::vector<Driver> drivers;
  while (const std::optional<StateId> state = runner.open({})) {
    drivers.push_back(Driver::adopt(runner, *state));
    if (!runner.reserve(*state, kLongContext)) return static_cast<int>(drivers.size()) - 1;
  }
  return static_cast<int>(drivers.size());
}

// States that can be opened, all alive at once.
inline int count_states(Runner& runner) {
  std::vector<Driver> drivers;
  while (const std::optional<StateId> state = runner.open({})) {
    drivers.push_back(Driver::adopt(runner, *state));
  }
  return static_cast<int>(drivers.size());
}

// A runner may hand room out in granules and plan for their rounding, so the plan can hold somewhat
// more than was asked for; its bytes say how much.
TEST_P(RunnerContract, ReserveGivesThePlanAndNoMore) {
  const auto runner = make(two_context_plan(6));
  const int64_t planned_tokens = runner->info().cache_bytes / runner->info().cache_bytes_per_token;
  const int n_contexts = count_full_contexts(*runner);
  EXPECT_GE(n_contexts, 2);
  EXPECT_LE(n_contexts * int64_t{kLongContext}, planned_tokens);
  EXPECT_EQ(count_full_contexts(*runner), n_contexts) << "after closing all";
}

// Takes all the room that is left, in states that live as long as the result.
inline std::vector<Driver> take_all_room(Runner& runner) {
  std::vector<Driver> drivers;
  for (int32_t n = kLongContext; n >= kLongContext;) {
    drivers.emplace_back(runner);
    for (n = 0; n < kLongContext && runner.reserve(drivers.back().state(), n + 64);) n += 64;
  }
  return drivers;
}

TEST_P(RunnerContract, RefusedReserveLeavesTheStateAsItWas) {
  const auto runner = make(two_context_plan(8));
  const Start start = make_start(*runner, {}, 8);
  Driver refused = begin(*runner, {}, start);
  Driver small = begin(*runner, {}, start);
  Driver large(*runner);
  ASSERT_TRUE(runner->reserve(large.state(), kLongContext));
  const std::vector<Driver> fillers = take_all_room(*runner);
  small.close();  // a little is free again, which the refusal must not take
  EXPECT_FALSE(runner->reserve(refused.state(), kLongContext));
  Driver reader(*runner);
  ASSERT_TRUE(runner->reserve(reader.state(), 60));
  reader.read(tokens(*runner, 29, 60), kWhole);  // overwrites what the refusal may have given back
  reader.close();
  const Plain after = refused.decode_and_save(start.pending, 8);
  EXPECT_TRUE(same_logits(after.logits.back(), start.plain.logits.back()));
  EXPECT_TRUE(same_bytes(after.saved.back(), start.plain.saved.back()));
  large.close();
  EXPECT_TRUE(runner->reserve(refused.state(), kLongContext));
}

TEST_P(RunnerContract, ForkAndLoadWithoutRoomTakeNothing) {
  const auto runner = make(two_context_plan(6));
  const int n_contexts = count_full_contexts(*runner);
  const Start start = make_start(*runner, {}, 1);
  Driver original = begin(*runner, {}, start);
  std::vector<Driver> fillers = take_all_room(*runner);
  for (int i = 0; i < 8; ++i) {  // more often than there are states
    EXPECT_FALSE(runner->fork(original.state()).has_value());
    EXPECT_FALSE(runner->load(start.plain.saved[0]).has_value());
  }
  fillers.clear();
  Driver fork = original.fork();
  fork.decode(start.pending, 1);
  EXPECT_TRUE(same_bytes(fork.save(), start.plain.saved[0]));
  fork.close();
  original.close();
  EXPECT_EQ(count_full_contexts(*runner), n_contexts);
  EXPECT_EQ(count_states(*runner), 6);
}

TEST_P(RunnerContract, ClosingForksInAnyOrderGivesTheirRoomBack) {
  const auto runner = make(two_context_plan(6));
  const int n_contexts = count_full_contexts(*runner);
  std::array<size_t, 3> order = {0, 1, 2};
  do {
    std::vector<Driver> drivers;
    drivers.emplace_back(*runner);
    drivers[0].read(tokens(*runner, 24, 100), kWhole);
    drivers.push_back(drivers[0].fork());
    drivers[1].read(tokens(*runner, 25, 30), kWhole);
    drivers.push_back(drivers[1].fork());
    for (const size_t i : order) drivers[i].close();
    EXPECT_EQ(count_full_contexts(*runner), n_contexts)
        << "order " << order[0] << order[1] << order[2];
  } while (std::ranges::next_permutation(order).found);
}

TEST_P(RunnerContract, NoStateBeyondStatesMax) {
  const auto runner = make(two_context_plan(3));
  EXPECT_EQ(runner->info().states_max, 3);
  Driver first(*runner);
  first.read(tokens(*runner, 26, 10), kWhole);
  const Bytes saved = first.save();
  Driver second = first.fork();
  Driver third(*runner);
  EXPECT_FALSE(runner->open({}).has_value());
  EXPECT_FALSE(runner->fork(first.state()).has_value());
  EXPECT_FALSE(runner->load(saved).has_value());
  second.close();
  const std::optional<StateId> loaded = runner->load(saved);
  ASSERT_TRUE(loaded.has_value());
  EXPECT_TRUE(same_bytes(runner->save(*loaded), saved));
  runner->close(*loaded);
}

TEST_P(RunnerContract, SequenceRunsToTheLastPosition) {
  RunnerOptions options = small_plan();
  options.context_tokens_max = 150;
  const auto runner = make(options);
  const Tokens prompt = tokens(*runner, 27, 132);
  Driver plain(*runner);
  const TokenId pending = greedy(plain.read(prompt, kWhole));
  const Plain wanted = plain.decode_and_save(pending, 18);
  EXPECT_EQ(plain.info().n_committed, 150);

  Driver drafted(*runner);
  drafted.read(prompt, kWhole);
  const StepResult step = drafted.verify(pending, slice(wanted.tokens, 0, 17));
  EXPECT_EQ(drafted.info().n_committed, 150);
  EXPECT_TRUE(same_logits(step.logits.back(), wanted.logits.back()));
  EXPECT_TRUE(same_bytes(drafted.save(), wanted.saved.back()));
}

TEST_P(RunnerContract, SavedStateContinuesInAFreshRunner) {
  const auto runner = make();
  for (const StateOptions options : state_options(*runner)) {
    const Start start = make_start(*runner, options, 40);
    for (const size_t n_done : {1u, 14u, 15u, 20u}) {
      SCOPED_TRACE(testing::Message()
                   << n_done << " rows, draft history " << options.keeps_draft_history);
      const auto fresh = make();
      const std::optional<StateId> loaded = fresh->load(start.plain.saved[n_done - 1]);
      ASSERT_TRUE(loaded.has_value());
      Driver driver = Driver::adopt(*fresh, *loaded);
      EXPECT_EQ(driver.info().n_committed, static_cast<int32_t>(start.prompt.size() + n_done));
      EXPECT_TRUE(same_bytes(driver.save(), start.plain.saved[n_done - 1]));
      const Plain after = driver.decode_and_save(start.plain.tokens[n_done - 1], 20);
      EXPECT_TRUE(same_logits(after.logits.front(), start.plain.logits[n_done]));
      EXPECT_TRUE(same_logits(after.logits.back(), start.plain.logits[n_done + 19]));
      EXPECT_TRUE(same_bytes(after.saved.back(), start.plain.saved[n_done + 19]));
    }
  }
}

TEST_P(RunnerContract, EmptyStateSavesAndLoads) {
  const auto runner = make();
  for (const StateOptions options : state_options(*runner)) {
    Driver empty(*runner, options);
    const std::optional<StateId> loaded = runner->load(empty.save());
    ASSERT_TRUE(loaded.has_value());
    Driver driver = Driver::adopt(*runner, *loaded);
    const Tokens prompt = tokens(*runner, 28, 20);
    EXPECT_TRUE(same_logits(driver.read(prompt, kWhole), empty.read(prompt, kWhole)));
    EXPECT_TRUE(same_bytes(driver.save(), empty.save()));
  }
}

// Whether `load` says that the copy is corrupt. Leaves no state behind.
inline testing::AssertionResult is_refused(Runner& runner, const Bytes& bytes) {
  try {
    const std::optional<StateId> loaded = runner.load(bytes);
    if (!loaded) return testing::AssertionFailure() << "no room";
    runner.close(*loaded);
    return testing::AssertionFailure() << "accepted";
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kCorruptFile) return testing::AssertionSuccess();
    return testing::AssertionFailure() << error.what();
  }
}

TEST_P(RunnerContract, CopyWithAFlippedBitIsRefused) {
  constexpr size_t kPlaces = 150;
  const auto runner = make();
  for (const StateOptions options : state_options(*runner)) {
    const Bytes saved = make_start(*runner, options, 3).plain.saved.back();
    for (size_t i = 0; i < kPlaces; ++i) {
      // Every byte of the head, then places spread over the whole copy, its last byte included.
      const size_t place =
          i < 100 ? std::min(i, saved.size() - 1) : (saved.size() - 1) * (i - 99) / (kPlaces - 100);
      Bytes damaged = saved;
      damaged[place] ^= std::byte{0x10};
      EXPECT_TRUE(is_refused(*runner, damaged)) << "byte " << place << " of " << saved.size();
    }
  }
}

TEST_P(RunnerContract, CopyOfAnotherLengthIsRefused) {
  const auto runner = make();
  const Bytes saved = make_start(*runner, {}, 3).plain.saved.back();
  for (const size_t n_bytes :
       {size_t{0}, size_t{1}, size_t{7}, saved.size() / 2, saved.size() - 1, saved.size() + 1}) {
    Bytes damaged = saved;
    damaged.resize(n_bytes);
    EXPECT_TRUE(is_refused(*runner, damaged)) << n_bytes << " of " << saved.size();
  }
}

TEST_P(RunnerContract, CopyOfAnotherModelIsRefused) {
  const auto runner = make();
  const auto other = GetParam().make_other(small_plan());
  EXPECT_TRUE(is_refused(*other, make_start(*runner, {}, 3).plain.saved.back()));
}

TEST_P(RunnerContract, RefusedCopiesTakeNoRoom) {
  const auto runner = make(two_context_plan(3));
  const int n_contexts = count_full_contexts(*runner);
  Bytes damaged = make_start(*runner, {}, 3).plain.saved.back();
  damaged.back() ^= std::byte{1};
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(is_refused(*runner, damaged));
  EXPECT_EQ(count_full_contexts(*runner), n_contexts);
}

}  // namespace slip::contract
