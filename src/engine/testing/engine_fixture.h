// An engine over a scripted runner and a fake source, and the answers that it should give.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "backend/testing/scripted_runner.h"
#include "draft/chooser.h"
#include "engine/engine.h"
#include "engine/testing/fake_source.h"

namespace slip {

struct FixtureOptions {
  ScriptedOptions runner;
  FakeSourceOptions source;
  EngineLimits limits;
};

// What came back for one request.
struct Answer {
  std::vector<TokenId> tokens;
  int32_t n_drafted = 0, n_accepted = 0;  // of all chunks
  std::optional<Finish> finish;
  int32_t n_finishes = 0;
};

inline std::vector<std::unique_ptr<DraftSource>> one_source(std::unique_ptr<DraftSource> source) {
  std::vector<std::unique_ptr<DraftSource>> sources;
  sources.push_back(std::move(source));
  return sources;
}

struct EngineFixture {
  explicit EngineFixture(const FixtureOptions& options)
      : runner(options.runner),
        chooser(one_source(std::make_unique<FakeSource>(runner, options.source)),
                {.adaptive = false}),
        source(static_cast<FakeSource&>(*chooser.sources()[0])),
        engine(runner, chooser, options.limits, /*keeps_draft_history=*/false),
        free_cache_tokens(runner.free_cache_tokens()) {}

  // Runs one step and files its chunks.
  void step() {
    for (const TokenChunk& chunk : engine.step()) {
      Answer& answer = answers[chunk.sequence];
      answer.tokens.insert(answer.tokens.end(), chunk.tokens.begin(), chunk.tokens.end());
      answer.n_drafted += chunk.n_drafted;
      answer.n_accepted += chunk.n_accepted;
      if (!chunk.finish) continue;
      answer.finish = chunk.finish;
      ++answer.n_finishes;
      order.push_back(chunk.sequence);
    }
  }

  void run() {
    for (int n = 0; !engine.idle(); ++n) {
      ASSERT_LT(n, 10'000) << "the engine makes no progress";
      step();
    }
  }

  void expect_baseline() const {
    EXPECT_EQ(runner.n_states(), 0);
    EXPECT_EQ(runner.free_cache_tokens(), free_cache_tokens);
    EXPECT_EQ(runner.counts().n_opens, runner.counts().n_closes);
  }

  ScriptedRunner runner;
  Chooser chooser;
  FakeSource& source;
  Engine engine;
  int64_t free_cache_tokens;  // before the first request
  std::map<SequenceId, Answer> answers;
  std::vector<SequenceId> order;  // of finishes
};

// A prompt of `n` tokens that differs from every other `salt`.
inline std::vector<TokenId> make_prompt(int32_t n, int32_t salt) {
  std::vector<TokenId> tokens;
  for (int32_t i = 0; i < n; ++i) tokens.push_back(TokenId{(7 * salt + 3 * i + i / 5) % 16});
  return tokens;
}

// The definition of an answer: one token at a time, without any engine.
inline std::vector<TokenId> plain_answer(const ScriptedRunner& runner,
                                         const GenerateRequest& request) {
  std::vector<TokenId> text = request.prompt;
  for (int32_t n = 0; n < request.max_tokens; ++n) {
    text.push_back(runner.next_token(text));
    if (std::ranges::find(request.stop_ids, text.back()) != request.stop_ids.end()) break;
  }
  return {text.begin() + static_cast<std::ptrdiff_t>(request.prompt.size()), text.end()};
}

}  // namespace slip
