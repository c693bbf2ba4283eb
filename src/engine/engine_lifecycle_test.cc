// Who gets in, who waits, and how requests end when something is in the way.
#include <string>

#include <gtest/gtest.h>

#include "base/error.h"
#include "engine/engine.h"
#include "engine/testing/engine_fixture.h"

namespace slip {
namespace {

GenerateRequest request_of(int32_t n_prompt, int32_t max_tokens, int32_t salt = 1) {
  return {
      .prompt = make_prompt(n_prompt, salt), .max_tokens = max_tokens, .stop_ids = {}, .seed = 0};
}

// The error that a submission gives.
Error refusal(Engine& engine, const GenerateRequest& request) {
  try {
    engine.submit(request);
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "the request was taken";
  return Error(ErrorCode::kDevice, "");
}

void expect_mentions(const Error& error, std::initializer_list<const char*> parts) {
  for (const char* part : parts) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos)
        << error.what() << " lacks " << part;
  }
}

TEST(Engine, RefusesRequestsThatMeanNothing) {
  EngineFixture fixture({});
  const std::vector<TokenId> past_vocabulary{TokenId{1}, TokenId{16}};
  const std::vector<TokenId> negative{TokenId{-1}};
  for (const GenerateRequest& request :
       {request_of(0, 5), request_of(5, 0), request_of(5, -1),
        GenerateRequest{.prompt = past_vocabulary, .max_tokens = 5, .stop_ids = {}, .seed = 0},
        GenerateRequest{.prompt = negative, .max_tokens = 5, .stop_ids = {}, .seed = 0}}) {
    EXPECT_EQ(refusal(fixture.engine, request).code(), ErrorCode::kInvalidArgument);
  }
  EXPECT_TRUE(fixture.engine.idle());
}

TEST(Engine, RefusesMoreThanTheContextWithTheNumbers) {
  EngineFixture fixture({.runner = {.context_tokens_max = 100}});
  const Error error = refusal(fixture.engine, request_of(60, 41));
  EXPECT_EQ(error.code(), ErrorCode::kInsufficientMemory);
  expect_mentions(error, {"60", "41", "100"});
}

TEST(Engine, RefusesMoreThanTheCacheWithTheNumbers) {
  EngineFixture fixture({.runner = {.context_tokens_max = 1000, .cache_tokens_max = 128}});
  const Error error = refusal(fixture.engine, request_of(100, 29));
  EXPECT_EQ(error.code(), ErrorCode::kInsufficientMemory);
  expect_mentions(error, {"100", "29", "128"});
}

TEST(Engine, TakesRequestsThatFillTheCacheExactly) {
  EngineFixture fixture({.runner = {.context_tokens_max = 128, .cache_tokens_max = 128}});
  const SequenceId id = fixture.engine.submit(request_of(100, 28));
  fixture.run();
  EXPECT_EQ(fixture.answers[id].tokens, plain_answer(fixture.runner, request_of(100, 28)));
}

TEST(Engine, RefusesALargestPossibleAnswerWithoutOverflow) {
  EngineFixture fixture({});
  EXPECT_EQ(refusal(fixture.engine, request_of(60, INT32_MAX)).code(),
            ErrorCode::kInsufficientMemory);
}

TEST(Engine, QueueHasABound) {
  EngineFixture fixture({.limits = {.sequences_max = 1, .queue_max = 3}});
  for (int n = 0; n < 3; ++n) fixture.engine.submit(request_of(5, 5));
  expect_mentions(refusal(fixture.engine, request_of(5, 5)), {"3"});
  fixture.step();  // the first one runs now
  fixture.engine.submit(request_of(5, 5));
  refusal(fixture.engine, request_of(5, 5));
}

TEST(Engine, RefusesLimitsBelowOne) {
  for (const EngineLimits& limits : {EngineLimits{.sequences_max = 0}, EngineLimits{.queue_max = 0},
                                     EngineLimits{.prompt_rows_max = 0}}) {
    EXPECT_THROW(EngineFixture({.limits = limits}), Error);
  }
}

TEST(Engine, RunsNoMoreSequencesThanItsLimit) {
  EngineFixture fixture({.limits = {.sequences_max = 2}});
  for (int32_t i = 0; i < 5; ++i) fixture.engine.submit(request_of(5, 40, i));
  fixture.step();
  EXPECT_EQ(fixture.runner.n_states(), 2);
}

TEST(Engine, AdmitsWaitingRequestsInOrder) {
  EngineFixture fixture({.limits = {.sequences_max = 1}});
  std::vector<SequenceId> ids;
  for (int32_t i = 0; i < 5; ++i)
    ids.push_back(fixture.engine.submit(request_of(20 - 4 * i, 10, i)));
  fixture.run();
  EXPECT_EQ(fixture.order, ids);
}

TEST(Engine, ASmallRequestDoesNotOvertakeALargeOneThatWaitsForRoom) {
  EngineFixture fixture({.runner = {.context_tokens_max = 256, .cache_tokens_max = 256}});
  const SequenceId first = fixture.engine.submit(request_of(60, 68, 1));  // 128 of 256 tokens
  const SequenceId large = fixture.engine.submit(request_of(190, 2, 2));  // 192
  const SequenceId small = fixture.engine.submit(request_of(3, 1, 3));    // 64, would fit at once
  fixture.run();
  EXPECT_EQ(fixture.order.front(), first);
  EXPECT_EQ(fixture.answers[large].n_finishes, 1);
  EXPECT_EQ(fixture.answers[small].tokens, plain_answer(fixture.runner, request_of(3, 1, 3)));
  fixture.expect_baseline();
}

TEST(Engine, WaitsForAStateWhereTheRunnerHasNone) {
  EngineFixture fixture({.runner = {.states_max = 1}});
  const SequenceId first = fixture.engine.submit(request_of(5, 10, 1));
  const SequenceId second = fixture.engine.submit(request_of(5, 10, 2));
  fixture.run();
  EXPECT_EQ(fixture.order, (std::vector<SequenceId>{first, second}));
  EXPECT_EQ(fixture.answers[second].finish->reason, FinishReason::kLength);
}

TEST(Engine, AWaitingRequestDoesNotTouchTheRunner) {
  EngineFixture fixture({.runner = {.context_tokens_max = 128, .cache_tokens_max = 128}});
  fixture.engine.submit(request_of(5, 100, 1));
  fixture.engine.submit(request_of(5, 100, 2));
  fixture.step();
  const int32_t n_opens = fixture.runner.counts().n_opens;
  fixture.step();
  EXPECT_EQ(fixture.runner.counts().n_opens, n_opens);
}

TEST(Engine, ARequestThatCanNeverStartEndsWithTheNumbers) {
  EngineFixture fixture({.runner = {.states_max = 1}});
  const StateId foreign = fixture.runner.open({}).value();  // someone else keeps the only state
  const SequenceId id = fixture.engine.submit(request_of(5, 10));
  fixture.run();
  const Finish finish = fixture.answers[id].finish.value();
  EXPECT_EQ(finish.error, ErrorCode::kInsufficientMemory);
  EXPECT_NE(finish.message.find("15 tokens"), std::string::npos) << finish.message;
  fixture.runner.close(foreign);
}

// Cancels one of two requests before step `n`, for every n at which it is still alive.
TEST(Engine, CancelAtEveryStepGivesEverythingBack) {
  const GenerateRequest cancelled = request_of(40, 30, 1);
  const GenerateRequest other = request_of(15, 30, 2);
  for (int n = 0; n <= 10; ++n) {
    SCOPED_TRACE("cancelled before step " + std::to_string(n));
    EngineFixture fixture(
        {.source = {.n_tokens = 3, .wrong_every = 4}, .limits = {.prompt_rows_max = 16}});
    const SequenceId id = fixture.engine.submit(cancelled);
    const SequenceId other_id = fixture.engine.submit(other);
    for (int k = 0; k < n; ++k) fixture.step();
    ASSERT_FALSE(fixture.answers[id].finish.has_value());
    fixture.engine.cancel(id);
    const size_t n_tokens = fixture.answers[id].tokens.size();
    fixture.step();
    EXPECT_EQ(fixture.answers[id].finish.value().reason, FinishReason::kCancelled);
    EXPECT_EQ(fixture.answers[id].tokens.size(), n_tokens);
    fixture.run();
    EXPECT_EQ(fixture.answers[id].n_finishes, 1);
    EXPECT_EQ(fixture.answers[other_id].tokens, plain_answer(fixture.runner, other));
    fixture.expect_baseline();
  }
}

TEST(Engine, CancelWhileWaitingKeepsTheOrderOfTheOthers) {
  EngineFixture fixture({.limits = {.sequences_max = 1}});
  std::vector<SequenceId> ids;
  for (int32_t i = 0; i < 4; ++i) ids.push_back(fixture.engine.submit(request_of(5, 10, i)));
  fixture.step();
  fixture.engine.cancel(ids[2]);
  fixture.run();
  EXPECT_EQ(fixture.order, (std::vector<SequenceId>{ids[2], ids[0], ids[1], ids[3]}));
  EXPECT_EQ(fixture.runner.counts().n_opens, 3);
}

TEST(Engine, CancellingTheFirstInLineLetsTheNextOneIn) {
  EngineFixture fixture({.runner = {.context_tokens_max = 256, .cache_tokens_max = 256}});
  fixture.engine.submit(request_of(60, 68, 1));
  const SequenceId large = fixture.engine.submit(request_of(190, 2, 2));
  const SequenceId small = fixture.engine.submit(request_of(3, 1, 3));
  fixture.step();
  fixture.engine.cancel(large);
  fixture.step();
  EXPECT_TRUE(fixture.answers[small].finish.has_value());
}

TEST(Engine, CancelOfUnknownAndFinishedRequestsIsIgnored) {
  EngineFixture fixture({});
  const SequenceId id = fixture.engine.submit(request_of(5, 3));
  fixture.run();
  fixture.engine.cancel(id);
  fixture.engine.cancel(SequenceId{99});
  fixture.step();
  EXPECT_EQ(fixture.answers[id].n_finishes, 1);
  EXPECT_EQ(fixture.answers.size(), 1u);
}

TEST(Engine, NonFiniteLogitsEndTheirOwnSequenceOnly) {
  const GenerateRequest struck = request_of(30, 40, 1);  // reaches position 49
  const GenerateRequest spared = request_of(5, 40, 2);   // ends before
  for (const int32_t n_drafts : {0, 1, 6}) {
    SCOPED_TRACE(std::to_string(n_drafts) + " drafts");
    EngineFixture fixture({.runner = {.nan_position = 49}, .source = {.n_tokens = n_drafts}});
    const SequenceId struck_id = fixture.engine.submit(struck);
    const SequenceId spared_id = fixture.engine.submit(spared);
    fixture.run();
    const Finish finish = fixture.answers[struck_id].finish.value();
    EXPECT_EQ(finish.error, ErrorCode::kNonFiniteLogits);
    EXPECT_NE(finish.message.find("position 49"), std::string::npos) << finish.message;
    std::vector<TokenId> before = plain_answer(fixture.runner, struck);
    before.resize(20);  // positions 30 to 49
    EXPECT_EQ(fixture.answers[struck_id].tokens, before);
    EXPECT_EQ(fixture.answers[spared_id].tokens, plain_answer(fixture.runner, spared));
    fixture.expect_baseline();
  }
}

TEST(Engine, ADeviceFailureAtAnyStepEndsTheRunningAndSparesTheWaiting) {
  for (int32_t n = 1; n <= 8; ++n) {
    SCOPED_TRACE("accept " + std::to_string(n) + " fails");
    EngineFixture fixture({.runner = {.device_fails_at_accept = n},
                           .source = {.n_tokens = 3},
                           .limits = {.sequences_max = 1}});
    const GenerateRequest first = request_of(20, 60, 1);
    const GenerateRequest second = request_of(20, 60, 2);
    const SequenceId first_id = fixture.engine.submit(first);
    const SequenceId second_id = fixture.engine.submit(second);
    fixture.run();
    EXPECT_EQ(fixture.answers[first_id].finish.value().error, ErrorCode::kDevice);
    std::vector<TokenId> before = plain_answer(fixture.runner, first);
    before.resize(fixture.answers[first_id].tokens.size());
    EXPECT_EQ(fixture.answers[first_id].tokens, before);
    EXPECT_EQ(fixture.answers[second_id].tokens, plain_answer(fixture.runner, second));
    fixture.expect_baseline();
  }
}

TEST(Engine, ADestroyedEngineClosesItsStates) {
  ScriptedRunner runner({});
  Chooser chooser(one_source(std::make_unique<FakeSource>(runner, FakeSourceOptions{})),
                  {.adaptive = false});
  {
    Engine engine(runner, chooser, {}, /*keeps_draft_history=*/false);
    for (int32_t i = 0; i < 3; ++i) engine.submit(request_of(5, 50, i));
    engine.step();
    ASSERT_EQ(runner.n_states(), 3);
  }
  EXPECT_EQ(runner.n_states(), 0);
}

TEST(Engine, AStepWithNothingToDoGivesNothing) {
  EngineFixture fixture({});
  EXPECT_TRUE(fixture.engine.step().empty());
  EXPECT_EQ(fixture.runner.counts().n_forwards, 0);
}

}  // namespace
}  // namespace slip
