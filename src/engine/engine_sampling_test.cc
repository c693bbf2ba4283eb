// What drawing tokens adds to the engine: seeded text does not depend on drafts, stop strings cut
// exactly, log-probabilities belong to their tokens.

#include <cmath>

#include <gtest/gtest.h>

#include "base/testing/expect_error.h"
#include "draft/mtp_source.h"
#include "engine/testing/engine_fixture.h"
#include "text/testing/source_file.h"
#include "text/tokenizer.h"

namespace slip {
namespace {

const SamplingParams kDrawn{
    .shape = {.temperature = 2, .top_p = 0.95f, .top_k = 10, .min_p = 0.01f},
    .penalties = {.presence = 0.3f, .frequency = 0.2f, .repetition = 1.1f},
    .logit_bias = {{TokenId{3}, 1.5f}}};

GenerateRequest drawn_request(int32_t salt, uint64_t seed = 7) {
  return {.prompt = make_prompt(12, salt), .max_tokens = 60, .sampling = kDrawn, .seed = seed};
}

// Answers of several requests run together, each drafting as `source` says.
std::vector<std::vector<TokenId>> run_all(const std::vector<GenerateRequest>& requests,
                                          const FakeSourceOptions& source) {
  EngineFixture f({.source = source});
  std::vector<SequenceId> ids;
  for (const GenerateRequest& request : requests) ids.push_back(f.engine.submit(request));
  f.run();
  f.expect_baseline();
  std::vector<std::vector<TokenId>> texts;
  for (const SequenceId id : ids) texts.push_back(f.answers[id].tokens);
  return texts;
}

TEST(EngineSampling, SeededTextDependsOnNeitherDraftsNorNeighbours) {
  std::vector<GenerateRequest> requests;
  for (int32_t salt = 0; salt < 4; ++salt) requests.push_back(drawn_request(salt));
  std::vector<std::vector<TokenId>> alone;
  for (const GenerateRequest& request : requests)
    alone.push_back(run_all({request}, {.n_tokens = 0}).front());
  for (const int32_t n_tokens : {1, 2, 5, 16, 31})
    EXPECT_EQ(run_all(requests, {.n_tokens = n_tokens, .wrong_every = 3}), alone) << n_tokens;
}

TEST(EngineSampling, AnotherSeedGivesAnotherText) {
  EXPECT_NE(run_all({drawn_request(1, 7)}, {}), run_all({drawn_request(1, 8)}, {}));
}

TEST(EngineSampling, SeededDraftsOfTheHeadShareTheTargetsNoise) {
  ScriptedRunner runner({.draft_fails_every = 0});
  Chooser chooser(one_source(std::make_unique<MtpSource>(runner)),
                  {.adaptive = false, .n_tokens_max = 4});
  Engine engine(runner, chooser, {}, /*keeps_draft_history=*/true);
  engine.submit(drawn_request(2));
  SequenceStats stats;
  while (!engine.idle()) {
    for (const TokenChunk& chunk : engine.step()) {
      if (chunk.finish) stats = chunk.finish->stats;
    }
  }
  EXPECT_EQ(stats.accepted, stats.drafted);  // the head sees the target's own logits
  EXPECT_GT(stats.drafted, 30);
}

// The same head, the other coupling: p equals q, so that every draft is kept as well.
TEST(EngineSampling, RejectionKeepsEveryDraftDrawnFromTheTargetsOwnLaw) {
  ScriptedRunner runner({.draft_fails_every = 0});
  Chooser chooser(one_source(std::make_unique<MtpSource>(runner)),
                  {.adaptive = false, .n_tokens_max = 4});
  Engine engine(runner, chooser, {}, /*keeps_draft_history=*/true);
  GenerateRequest request = drawn_request(2);
  request.coupling = Coupling::kRejection;
  engine.submit(request);
  SequenceStats stats;
  while (!engine.idle()) {
    for (const TokenChunk& chunk : engine.step()) {
      if (chunk.finish) stats = chunk.finish->stats;
    }
  }
  EXPECT_EQ(stats.accepted, stats.drafted);
  EXPECT_GT(stats.drafted, 30);
}

TEST(EngineSampling, LogprobsAreThoseOfTheTokensTheyStandBeside) {
  EngineFixture f({.source = {.n_tokens = 3}});
  GenerateRequest request = drawn_request(1);
  request.n_logprobs = 2;
  f.engine.submit(request);
  size_t n_tokens = 0;
  while (!f.engine.idle()) {
    for (const TokenChunk& chunk : f.engine.step()) {
      ASSERT_EQ(chunk.logprobs.size(), chunk.tokens.size());
      for (size_t i = 0; i < chunk.tokens.size(); ++i, ++n_tokens) {
        EXPECT_EQ(chunk.logprobs[i].token.id, chunk.tokens[i]);
        ASSERT_EQ(chunk.logprobs[i].top.size(), 2u);
        EXPECT_GE(chunk.logprobs[i].top[0].logprob, chunk.logprobs[i].token.logprob);
      }
    }
  }
  EXPECT_EQ(n_tokens, 60u);
}

// The definition: the likeliest token of every row is the greedy one.
TEST(EngineSampling, LogprobsOfGreedyTextNameItsOwnTokenFirst) {
  EngineFixture f({.source = {.n_tokens = 5, .wrong_every = 3}});
  f.engine.submit({.prompt = make_prompt(12, 3), .max_tokens = 40, .n_logprobs = 1});
  while (!f.engine.idle()) {
    for (const TokenChunk& chunk : f.engine.step()) {
      for (size_t i = 0; i < chunk.tokens.size(); ++i)
        EXPECT_EQ(chunk.logprobs[i].top.at(0).id, chunk.tokens[i]);
    }
  }
}

// Where the text of `tokens` first has `stop`, in tokens from the begin, that one included.
size_t tokens_until(const Tokenizer& tokenizer, std::span<const TokenId> tokens,
                    std::string_view stop) {
  std::string text;
  for (size_t i = 0; i < tokens.size(); ++i) {
    text += tokenizer.decode(tokens.subspan(i, 1), /*skip_special=*/true);
    if (text.find(stop) != std::string::npos) return i + 1;
  }
  return 0;
}

TEST(EngineStop, StringEndsTheAnswerAtTheTokenThatCompletesItWhateverWasDrafted) {
  const Tokenizer tokenizer = Tokenizer::parse(
      test::read_source_file("models/tiny-coder/tokenizer.json"), "tokenizer.json");
  GenerateRequest request{.prompt = make_prompt(12, 5), .max_tokens = 60};
  const std::vector<TokenId> whole = plain_answer(ScriptedRunner({}), request);
  for (const size_t begin : {0u, 9u, 10u, 11u, 12u}) {  // every place in a draft of five
    const std::string stop =
        tokenizer.decode(std::span(whole).subspan(begin, 3), /*skip_special=*/true);
    const size_t n_wanted = tokens_until(tokenizer, whole, stop);
    ASSERT_GT(n_wanted, 0u);
    for (const int32_t n_drafts : {0, 1, 5, 31}) {
      ScriptedRunner runner({});
      Chooser chooser(
          one_source(std::make_unique<FakeSource>(runner, FakeSourceOptions{.n_tokens = n_drafts})),
          {.adaptive = false});
      Engine engine(runner, chooser, {}, /*keeps_draft_history=*/false, &tokenizer);
      request.stop_strings = {"no such text", stop};
      engine.submit(request);
      std::vector<TokenId> tokens;
      FinishReason reason{};
      while (!engine.idle()) {
        for (const TokenChunk& chunk : engine.step()) {
          tokens.insert(tokens.end(), chunk.tokens.begin(), chunk.tokens.end());
          if (chunk.finish) reason = chunk.finish->reason;
        }
      }
      EXPECT_EQ(tokens, std::vector<TokenId>(whole.begin(),
                                             whole.begin() + static_cast<ptrdiff_t>(n_wanted)));
      EXPECT_EQ(reason, FinishReason::kStop);
    }
  }
}

TEST(EngineSampling, RefusesWhatIsOutOfRange) {
  EngineFixture f({});
  GenerateRequest request = drawn_request(1);
  request.n_logprobs = 21;
  EXPECT_EQ(test::message_of([&] { f.engine.submit(request); }),
            "logprobs: found 21, wanted 0 to 20");
  request = drawn_request(1);
  request.sampling.shape.top_p = 0;
  EXPECT_EQ(test::message_of([&] { f.engine.submit(request); }),
            "top_p: found 0, wanted more than 0 and at most 1");
  request = drawn_request(1);
  request.stop_strings = {"x"};
  EXPECT_EQ(test::message_of([&] { f.engine.submit(request); }),
            "stop: this engine has no tokenizer, wanted no texts");
  EXPECT_TRUE(f.engine.idle());
}

}  // namespace
}  // namespace slip
