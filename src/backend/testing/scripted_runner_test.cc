// What the engine's tests rely on: the toy is deterministic, keeps its books, and aborts on misuse.
#include "backend/testing/scripted_runner.h"

#include <cmath>

#include <gtest/gtest.h>

#include "base/error.h"

namespace slip {
namespace {

std::vector<TokenId> ids(std::initializer_list<int> values) {
  std::vector<TokenId> tokens;
  for (const int value : values) tokens.push_back(TokenId{value});
  return tokens;
}

// An open state with room for 128 tokens, its draft history kept.
StateId open_state(ScriptedRunner& runner) {
  const StateId state = runner.open({.keeps_draft_history = true}).value();
  EXPECT_TRUE(runner.reserve(state, 128));
  return state;
}

Batch one_segment(StateId state, int32_t position, std::vector<TokenId> tokens, int32_t n_certain) {
  Batch batch;
  const auto n_rows = static_cast<int32_t>(tokens.size());
  batch.tokens = std::move(tokens);
  batch.segments = {{.state = state,
                     .position = position,
                     .n_rows = n_rows,
                     .n_certain = n_certain,
                     .wants_next = true}};
  return batch;
}

Verdict run(ScriptedRunner& runner, const Batch& batch) {
  Verdict verdict;
  runner.forward(batch);
  runner.accept({}, {&verdict, 1});
  return verdict;
}

std::vector<TokenId> head_drafts(ScriptedRunner& runner, StateId state, TokenId pending, size_t n) {
  std::vector<TokenId> out(n);
  const DraftRequest request{.state = state, .pending = pending, .out = out};
  runner.draft({&request, 1});
  return out;
}

TEST(ScriptedRunner, NextTokenDependsOnTheWholeHistory) {
  const ScriptedRunner runner({.vocab_size = 1000});
  EXPECT_EQ(runner.next_token(ids({1, 2, 3, 4})), runner.next_token(ids({1, 2, 3, 4})));
  EXPECT_NE(runner.next_token(ids({1, 2, 3, 4})), runner.next_token(ids({5, 2, 3, 4})));
  EXPECT_NE(runner.next_token(ids({1, 2, 3, 4})), runner.next_token(ids({2, 1, 3, 4})));
}

TEST(ScriptedRunner, VerdictIsWhatTheOracleSays) {
  ScriptedRunner runner({.vocab_size = 100});
  const StateId state = open_state(runner);
  const std::vector<TokenId> text = ids({4, 9, 2});
  const Verdict verdict = run(runner, one_segment(state, 0, text, 3));
  EXPECT_EQ(verdict.next, runner.next_token(text));
  EXPECT_EQ(runner.state_info(state).n_committed, 3);
}

TEST(ScriptedRunner, CommitsTheAcceptedDraftsOnly) {
  ScriptedRunner runner({.vocab_size = 100});
  const StateId state = open_state(runner);
  std::vector<TokenId> text = ids({4, 9, 2});
  const TokenId right = runner.next_token(text);
  text.insert(text.end(), {right, TokenId{99}, TokenId{98}});
  const Verdict verdict = run(runner, one_segment(state, 0, text, 3));
  EXPECT_EQ(verdict.n_accepted, 1);
  EXPECT_EQ(runner.state_info(state).n_committed, 4);
}

TEST(ScriptedRunner, RejectedDraftsLeaveNoTrace) {
  ScriptedRunner runner({.vocab_size = 100});
  const StateId drafted = open_state(runner);
  const StateId plain = open_state(runner);
  run(runner, one_segment(drafted, 0, ids({4, 9, 99, 98}), 2));
  run(runner, one_segment(plain, 0, ids({4, 9}), 2));
  EXPECT_EQ(runner.save(drafted), runner.save(plain));
  EXPECT_EQ(run(runner, one_segment(drafted, 2, ids({7}), 1)).next,
            runner.next_token(ids({4, 9, 7})));
}

TEST(ScriptedRunner, DraftHeadErrsAtEveryNthPosition) {
  ScriptedRunner runner({.vocab_size = 100, .draft_fails_every = 4});
  const StateId state = open_state(runner);
  std::vector<TokenId> text = ids({4, 9, 2});
  run(runner, one_segment(state, 0, text, 3));
  text.push_back(TokenId{5});  // pending, position 3: the head drafts positions 4, 5, 6, ...
  EXPECT_NE(head_drafts(runner, state, TokenId{5}, 1)[0], runner.next_token(text));
  run(runner, one_segment(state, 3, ids({5}), 1));
  for (size_t n = 1; n <= 3; ++n) {
    text.push_back(TokenId{6});
    const std::vector<TokenId> drafts = head_drafts(runner, state, TokenId{6}, n);
    EXPECT_EQ(drafts[0], runner.next_token(text)) << "position " << text.size();
    run(runner, one_segment(state, static_cast<int32_t>(text.size()) - 1, ids({6}), 1));
  }
}

TEST(ScriptedRunner, DraftLogitsChooseTheLastDraft) {
  ScriptedRunner runner({.vocab_size = 50, .draft_fails_every = 3});
  const StateId state = open_state(runner);
  run(runner, one_segment(state, 0, ids({4, 9, 2}), 3));
  std::vector<float> logits(50);
  for (size_t n = 1; n <= 6; ++n) {
    const TokenId last = head_drafts(runner, state, TokenId{8}, n).back();
    runner.read_draft_logits(0, logits);
    EXPECT_EQ(argmax(logits), last) << n << " drafts";
  }
}

TEST(ScriptedRunner, ForkContinuesLikeItsOriginal) {
  ScriptedRunner runner({.vocab_size = 100});
  const StateId state = open_state(runner);
  run(runner, one_segment(state, 0, ids({4, 9, 2}), 3));
  const StateId copy = runner.fork(state).value();
  EXPECT_EQ(runner.save(copy), runner.save(state));
  runner.close(state);
  EXPECT_EQ(run(runner, one_segment(copy, 3, ids({7}), 1)).next,
            runner.next_token(ids({4, 9, 2, 7})));
}

TEST(ScriptedRunner, LoadedStateContinuesLikeTheSavedOne) {
  ScriptedRunner runner({.vocab_size = 100});
  const StateId state = open_state(runner);
  run(runner, one_segment(state, 0, ids({4, 9, 2}), 3));
  const StateId loaded = runner.load(runner.save(state)).value();
  EXPECT_EQ(run(runner, one_segment(loaded, 3, ids({7}), 1)).next,
            runner.next_token(ids({4, 9, 2, 7})));
}

TEST(ScriptedRunner, LoadRefusesEveryDamagedByte) {
  ScriptedRunner runner({.vocab_size = 100});
  const StateId state = open_state(runner);
  run(runner, one_segment(state, 0, ids({4, 9, 2}), 3));
  const std::vector<std::byte> bytes = runner.save(state);
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::vector<std::byte> damaged = bytes;
    damaged[i] ^= std::byte{0x10};
    EXPECT_THROW(runner.load(damaged), Error) << "byte " << i;
  }
  for (size_t n = 0; n < bytes.size(); ++n)
    EXPECT_THROW(runner.load(std::span(bytes).first(n)), Error) << n << " bytes";
}

TEST(ScriptedRunner, LoadRefusesAnotherModel) {
  ScriptedRunner one({.vocab_size = 100, .seed = 1});
  ScriptedRunner other({.vocab_size = 100, .seed = 2});
  EXPECT_THROW(other.load(one.save(open_state(one))), Error);
}

TEST(ScriptedRunner, SaysNoWithoutRoom) {
  ScriptedRunner runner({.cache_tokens_max = 256, .states_max = 2});
  const StateId first = runner.open({}).value();
  const StateId second = runner.open({}).value();
  EXPECT_FALSE(runner.open({}).has_value());
  EXPECT_TRUE(runner.reserve(first, 129));    // three blocks of four
  EXPECT_FALSE(runner.reserve(second, 65));   // two, one is left
  EXPECT_EQ(runner.free_cache_tokens(), 64);  // the refusal took nothing
  runner.close(first);
  EXPECT_TRUE(runner.reserve(second, 256));
}

TEST(ScriptedRunner, NanPositionHasNoUsableChoice) {
  ScriptedRunner runner({.nan_position = 1});
  const StateId state = open_state(runner);
  EXPECT_TRUE(run(runner, one_segment(state, 0, ids({4}), 1)).is_finite);
  EXPECT_FALSE(run(runner, one_segment(state, 1, ids({4}), 1)).is_finite);
}

TEST(ScriptedRunner, FailsAtTheAcceptItWasToldAndCommitsNothing) {
  ScriptedRunner runner({.device_fails_at_accept = 2});
  const StateId state = open_state(runner);
  run(runner, one_segment(state, 0, ids({4}), 1));
  EXPECT_THROW(run(runner, one_segment(state, 1, ids({4}), 1)), Error);
  EXPECT_EQ(runner.state_info(state).n_committed, 1);
}

TEST(ScriptedRunner, TruncateLowersTheCommittedCount) {
  ScriptedRunner runner({.vocab_size = 100});
  const StateId state = open_state(runner);
  std::vector<TokenId> text = ids({4, 9});
  for (int i = 0; i < 3; ++i) text.push_back(runner.next_token(text));
  run(runner, one_segment(state, 0, text, 2));
  ASSERT_EQ(runner.state_info(state).n_committed, 5);
  runner.truncate(state, 3);
  EXPECT_EQ(run(runner, one_segment(state, 3, ids({7}), 1)).next,
            runner.next_token(std::vector<TokenId>{text[0], text[1], text[2], TokenId{7}}));
}

// Each line breaks one rule of the contract.
TEST(ScriptedRunnerDeathTest, AbortsOnMisuse) {
  ScriptedRunner runner({.context_tokens_max = 512});
  const StateId state = open_state(runner);
  const StateId plain = runner.open({}).value();
  Verdict verdict;
  EXPECT_DEATH(runner.accept({}, {&verdict, 1}), "is_accept_due_");
  EXPECT_DEATH(runner.forward(one_segment(state, 1, ids({4}), 1)), "position == state.n_committed");
  EXPECT_DEATH(runner.forward(one_segment(plain, 0, ids({4}), 1)), "n_blocks");
  EXPECT_DEATH(runner.truncate(state, 0), "truncate_min");
  EXPECT_DEATH(head_drafts(runner, state, TokenId{1}, 1), "n_committed >= 1");
  EXPECT_DEATH(runner.reserve(state, 513), "context_tokens_max");
  EXPECT_DEATH(runner.close(StateId{77}), "found");

  runner.forward(one_segment(state, 0, ids({4, 5}), 2));
  EXPECT_DEATH(runner.forward(one_segment(state, 2, ids({4}), 1)), "is_accept_due_");
  EXPECT_DEATH(runner.close(state), "is_accept_due_");
  EXPECT_DEATH(runner.save(state), "is_accept_due_");
  EXPECT_DEATH(runner.truncate(state, 2), "is_accept_due_");
  EXPECT_DEATH(runner.accept({}, {}), "segments.size");
  runner.accept({}, {&verdict, 1});
  EXPECT_DEATH(runner.truncate(state, 1), "n_tokens >= s.truncate_min");
  EXPECT_DEATH(runner.truncate(plain, 0), "truncate_min");
  runner.save(state);
  EXPECT_DEATH(runner.truncate(state, 2), "truncate_min");
  EXPECT_DEATH(head_drafts(runner, plain, TokenId{1}, 1), "keeps_draft_history");
}

}  // namespace
}  // namespace slip
