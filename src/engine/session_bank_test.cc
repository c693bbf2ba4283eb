#include "engine/session_bank.h"

#include <gtest/gtest.h>

#include "engine/testing/engine_fixture.h"

namespace slip {
namespace {

// A state that covers `tokens`.
StateId run_state(ScriptedRunner& runner, const std::vector<TokenId>& tokens) {
  const StateId state = runner.open({}).value();
  EXPECT_TRUE(runner.reserve(state, static_cast<int32_t>(tokens.size())));
  const auto n = static_cast<int32_t>(tokens.size());
  runner.forward({.tokens = tokens, .segments = {{.state = state, .n_rows = n, .n_certain = n}}});
  Verdict verdict;
  runner.accept({}, {&verdict, 1});
  return state;
}

std::vector<TokenId> begin_of(const std::vector<TokenId>& tokens, size_t n) {
  return {tokens.begin(), tokens.begin() + static_cast<ptrdiff_t>(n)};
}

const std::vector<TokenId> kText = make_prompt(20, 1);

TEST(SessionBank, GivesTheStateThatCoversTheMost) {
  ScriptedRunner runner({});
  SessionBank bank(runner, 4);
  bank.put(run_state(runner, begin_of(kText, 5)));
  const StateId longer = run_state(runner, begin_of(kText, 9));
  bank.put(longer);
  bank.put(run_state(runner, begin_of(kText, 7)));
  EXPECT_EQ(bank.take(kText), longer);
  EXPECT_EQ(bank.n_states(), 2u);
  runner.close(longer);
}

TEST(SessionBank, GivesNoStateOfAnotherText) {
  ScriptedRunner runner({});
  SessionBank bank(runner, 4);
  std::vector<TokenId> other = begin_of(kText, 8);
  other[3] = TokenId{(static_cast<int32_t>(other[3]) + 1) % 16};
  bank.put(run_state(runner, other));
  EXPECT_FALSE(bank.take(kText));
}

// Something has to run, or there are no logits to go on from.
TEST(SessionBank, GivesNoStateThatCoversAllOfTheText) {
  ScriptedRunner runner({});
  SessionBank bank(runner, 4);
  bank.put(run_state(runner, kText));
  EXPECT_FALSE(bank.take(kText));
}

TEST(SessionBank, ClosesTheOldestBeyondItsLimit) {
  ScriptedRunner runner({});
  SessionBank bank(runner, 2);
  for (size_t n = 3; n < 8; ++n) bank.put(run_state(runner, begin_of(kText, n)));
  EXPECT_EQ(runner.n_states(), 2);
  const std::optional<StateId> state = bank.take(begin_of(kText, 7));
  ASSERT_TRUE(state);
  EXPECT_EQ(runner.state_info(*state).n_committed, 6);
  runner.close(*state);
}

TEST(SessionBank, ClosesWhatItKeepsWhenItEnds) {
  ScriptedRunner runner({});
  {
    SessionBank bank(runner, 2);
    bank.put(run_state(runner, kText));
  }
  EXPECT_EQ(runner.n_states(), 0);
}

// The answer to `request`, and how it was read.
Answer answer_of(Engine& engine, const GenerateRequest& request) {
  engine.submit(request);
  Answer answer;
  while (!engine.idle()) {
    for (const TokenChunk& chunk : engine.step()) {
      answer.tokens.insert(answer.tokens.end(), chunk.tokens.begin(), chunk.tokens.end());
      if (chunk.finish) answer.finish = chunk.finish;
    }
  }
  return answer;
}

TEST(EngineKeptStates, TextThatGoesOnIsReadFromWhereItEnded) {
  EngineFixture f({.limits = {.kept_states_max = 1}});
  GenerateRequest request{.prompt = make_prompt(12, 1), .max_tokens = 10};
  const Answer first = answer_of(f.engine, request);
  request.prompt.insert(request.prompt.end(), first.tokens.begin(), first.tokens.end());
  request.prompt.push_back(TokenId{2});
  const Answer second = answer_of(f.engine, request);
  EXPECT_EQ(second.finish->stats.restored_tokens, 12 + 10 - 1);  // the last token had not run
  EXPECT_EQ(second.tokens, plain_answer(f.runner, request));
}

TEST(EngineKeptStates, MakeRoomForWhoeverNeedsIt) {
  EngineFixture f(
      {.runner = {.cache_tokens_max = 128, .states_max = 2}, .limits = {.kept_states_max = 2}});
  for (int32_t salt = 0; salt < 5; ++salt) {
    const GenerateRequest request{.prompt = make_prompt(50, salt), .max_tokens = 60};
    const Answer answer = answer_of(f.engine, request);
    EXPECT_EQ(answer.finish->reason, FinishReason::kLength);
    EXPECT_EQ(answer.tokens, plain_answer(f.runner, request));
  }
}

TEST(EngineKeptStates, StateOfAFailedSequenceIsNotKept) {
  EngineFixture f({.runner = {.nan_position = 15}, .limits = {.kept_states_max = 2}});
  const GenerateRequest request{.prompt = make_prompt(12, 1), .max_tokens = 10};
  EXPECT_EQ(answer_of(f.engine, request).finish->reason, FinishReason::kError);
  EXPECT_EQ(f.runner.n_states(), 0);
}

}  // namespace
}  // namespace slip
