// Speculation, chunking and neighbours are invisible: every answer equals the one that plain
// decoding gives.
#include "engine/engine.h"

#include <gtest/gtest.h>

#include "draft/mtp_source.h"
#include "engine/testing/engine_fixture.h"

namespace slip {
namespace {

// The answer of an engine that serves this request alone.
Answer answer_alone(const FixtureOptions& options, const GenerateRequest& request) {
  EngineFixture fixture(options);
  const SequenceId id = fixture.engine.submit(request);
  fixture.run();
  fixture.expect_baseline();
  return fixture.answers[id];
}

GenerateRequest short_request() {
  return {.prompt = make_prompt(11, 1), .max_tokens = 60, .stop_ids = {}, .seed = 0};
}

std::vector<TokenId> plain(const GenerateRequest& request) {
  return plain_answer(ScriptedRunner({}), request);
}

TEST(Engine, GivesThePlainAnswerForAnySourceAndWidth) {
  const GenerateRequest request = short_request();
  for (const int32_t n_tokens : {0, 1, 2, 7, 30, 31}) {
    for (const int32_t wrong_every : {0, 1, 2, 3, 10}) {
      const FixtureOptions options{.source = {.n_tokens = n_tokens, .wrong_every = wrong_every}};
      EXPECT_EQ(answer_alone(options, request).tokens, plain(request))
          << n_tokens << " drafts, wrong every " << wrong_every;
    }
  }
}

TEST(Engine, GivesThePlainAnswerAcrossSplitBorders) {
  const GenerateRequest request{
      .prompt = make_prompt(50, 1), .max_tokens = 300, .stop_ids = {}, .seed = 0};
  const FixtureOptions options{.runner = {.n_splits = 1}, .source = {.n_tokens = 31}};
  EXPECT_EQ(answer_alone(options, request).tokens, plain(request));
}

TEST(Engine, GivesThePlainAnswerUpToTheEndOfTheContext) {
  const GenerateRequest request{
      .prompt = make_prompt(40, 1), .max_tokens = 60, .stop_ids = {}, .seed = 0};
  const FixtureOptions options{.runner = {.context_tokens_max = 100}, .source = {.n_tokens = 31}};
  EXPECT_EQ(answer_alone(options, request).tokens, plain(request));
}

TEST(Engine, RightDraftsSaveSteps) {
  const FixtureOptions options{.source = {.n_tokens = 9}};
  const Finish finish = answer_alone(options, short_request()).finish.value();
  // The prompt gives one token; then 5 blocks of 9 drafts and a bonus make 50, and one of 8 drafts
  // the last 9.
  EXPECT_EQ(finish.stats.steps, 7);
  EXPECT_EQ(finish.stats.accepted, 53);
}

TEST(Engine, GivesThePlainAnswerWithTheRunnersOwnHead) {
  const GenerateRequest request = short_request();
  for (const int32_t fails_every : {0, 1, 2, 5}) {
    ScriptedRunner runner({.draft_fails_every = fails_every});
    Chooser chooser(one_source(std::make_unique<MtpSource>(runner)),
                    {.adaptive = false, .n_tokens_max = 6});
    Engine engine(runner, chooser, {}, /*keeps_draft_history=*/true);
    engine.submit(request);
    std::vector<TokenId> tokens;
    while (!engine.idle()) {
      for (const TokenChunk& chunk : engine.step())
        tokens.insert(tokens.end(), chunk.tokens.begin(), chunk.tokens.end());
    }
    EXPECT_EQ(tokens, plain(request)) << "head fails every " << fails_every;
    EXPECT_GT(runner.counts().n_drafts, 0);
  }
}

// Every token of the answer in turn is the stop, so that it falls on each place of an accepted run.
TEST(Engine, StopsExactlyAtTheStopTokenWhereverADraftPutsIt) {
  GenerateRequest request = short_request();
  for (const int32_t wrong_every : {0, 4}) {
    for (int32_t stop = 0; stop < 16; ++stop) {
      request.stop_ids = {TokenId{stop}};
      const FixtureOptions options{.source = {.n_tokens = 7, .wrong_every = wrong_every}};
      const Answer answer = answer_alone(options, request);
      const bool has_stop = answer.tokens.back() == TokenId{stop};
      EXPECT_EQ(answer.tokens, plain(request)) << "stop " << stop;
      EXPECT_EQ(answer.finish->reason, has_stop ? FinishReason::kStop : FinishReason::kLength)
          << "stop " << stop;
    }
  }
}

TEST(Engine, AStopInsideAnAcceptedRunLowersTheState) {
  GenerateRequest request = short_request();
  const std::vector<TokenId> answer = plain(request);
  const auto first_time = [&](size_t i) {
    return std::find(answer.begin(), answer.end(), answer[i]) ==
           answer.begin() + static_cast<std::ptrdiff_t>(i);
  };
  int n_tried = 0;
  for (size_t i = 0; i < 20; ++i) {
    if (!first_time(i)) continue;
    request.stop_ids = {answer[i]};
    EngineFixture fixture({.source = {.n_tokens = 19}});
    fixture.engine.submit(request);
    fixture.run();
    // Token 0 ends the prompt; tokens 1 to 20 come from one block of 19 drafts and a bonus.
    const bool is_cut = i >= 1 && i <= 18;
    EXPECT_EQ(fixture.runner.counts().n_truncates, is_cut ? 1 : 0) << "stop at token " << i;
    const int32_t n_kept =
        11 + static_cast<int32_t>(i) + 1;  // the stop is an accepted draft that stays
    EXPECT_EQ(fixture.runner.counts().truncated_to, is_cut ? n_kept : -1);
    n_tried += is_cut;
  }
  EXPECT_GE(n_tried, 5);
}

TEST(Engine, AcceptedDraftsBehindAStopAreNotCounted) {
  GenerateRequest request = short_request();
  request.stop_ids = {plain(request)[1]};
  ASSERT_EQ(plain(request).size(), 2u);
  const Finish finish = answer_alone({.source = {.n_tokens = 9}}, request).finish.value();
  EXPECT_EQ(finish.stats.drafted, 9);
  EXPECT_EQ(finish.stats.accepted, 1);
}

TEST(Engine, EndsExactlyAtMaxTokensWhateverTheDraft) {
  GenerateRequest request = short_request();
  for (int32_t max_tokens = 1; max_tokens <= 24; ++max_tokens) {
    request.max_tokens = max_tokens;
    const Answer answer = answer_alone({.source = {.n_tokens = 7}}, request);
    EXPECT_EQ(answer.tokens, plain(request)) << max_tokens << " tokens";
    EXPECT_EQ(answer.finish->reason, FinishReason::kLength);
  }
}

TEST(Engine, NeverVerifiesDraftsThatCouldNotBecomeOutput) {
  EngineFixture fixture({.source = {.n_tokens = 31}});
  GenerateRequest request = short_request();
  request.max_tokens = 6;
  fixture.engine.submit(request);
  fixture.run();
  EXPECT_EQ(fixture.source.n_drafted, 4);  // one token from the prompt, four drafts, one bonus
  EXPECT_EQ(fixture.runner.counts().n_truncates, 0);
}

TEST(Engine, PromptChunksDoNotChangeTheAnswer) {
  const GenerateRequest request{
      .prompt = make_prompt(150, 2), .max_tokens = 20, .stop_ids = {}, .seed = 0};
  for (const int32_t prompt_rows_max : {1, 2, 7, 63, 64, 65, 149, 150, 256}) {
    const FixtureOptions options{.source = {.n_tokens = 4},
                                 .limits = {.prompt_rows_max = prompt_rows_max}};
    EXPECT_EQ(answer_alone(options, request).tokens, plain(request)) << prompt_rows_max << " rows";
  }
}

TEST(Engine, AOneTokenPromptIsEnough) {
  const GenerateRequest request{
      .prompt = {TokenId{3}}, .max_tokens = 20, .stop_ids = {}, .seed = 0};
  EXPECT_EQ(answer_alone({}, request).tokens, plain(request));
}

std::vector<GenerateRequest> many_requests() {
  std::vector<GenerateRequest> requests;
  for (int32_t i = 0; i < 12; ++i) {
    requests.push_back({.prompt = make_prompt(1 + 13 * i, i),
                        .max_tokens = 5 + 7 * (i % 5),
                        .stop_ids = {},
                        .seed = 0});
    if (i % 3 == 0) requests.back().stop_ids = {TokenId{i}};
  }
  return requests;
}

TEST(Engine, ManySequencesTogetherEqualEachAlone) {
  for (const int32_t batch_rows_max : {8, 20, 64}) {
    EngineFixture fixture(
        {.runner = {.batch_rows_max = batch_rows_max, .logit_rows_max = batch_rows_max},
         .source = {.n_tokens = 6, .wrong_every = 5},
         .limits = {.sequences_max = 8, .prompt_rows_max = 40}});
    std::vector<SequenceId> ids;
    for (const GenerateRequest& request : many_requests())
      ids.push_back(fixture.engine.submit(request));
    fixture.run();
    for (size_t i = 0; i < ids.size(); ++i) {
      EXPECT_EQ(fixture.answers[ids[i]].tokens, plain(many_requests()[i])) << "request " << i;
    }
    fixture.expect_baseline();
  }
}

TEST(Engine, ReadsAPromptWhileOthersDecode) {
  EngineFixture fixture({.source = {.n_tokens = 31}, .limits = {.prompt_rows_max = 16}});
  const SequenceId decoding = fixture.engine.submit(
      {.prompt = make_prompt(3, 1), .max_tokens = 900, .stop_ids = {}, .seed = 0});
  fixture.step();
  fixture.engine.submit({.prompt = make_prompt(64, 2), .max_tokens = 4, .stop_ids = {}, .seed = 0});
  for (int n = 0; n < 3; ++n) {
    const size_t before = fixture.answers[decoding].tokens.size();
    fixture.step();
    EXPECT_EQ(fixture.answers[decoding].tokens.size(), before + 32);
    EXPECT_EQ(fixture.runner.last_batch().segments[1].n_rows, 16);
  }
}

TEST(Engine, TellsHowFarThePromptIsRead) {
  EngineFixture fixture({.limits = {.prompt_rows_max = 16}});
  EXPECT_FALSE(fixture.engine.progress().has_value());
  fixture.engine.submit({.prompt = make_prompt(40, 1), .max_tokens = 4});
  std::vector<int32_t> n_read;
  while (fixture.answers.empty()) {
    fixture.step();
    const std::optional<PromptProgress> progress = fixture.engine.progress();
    n_read.push_back(progress ? progress->n_read : -1);
    EXPECT_EQ(progress ? progress->n_prompt : 40, 40);
  }
  EXPECT_EQ(n_read, (std::vector<int32_t>{16, 32, -1}));
}

TEST(Engine, CountsDraftsByTheirPosition) {
  const FixtureOptions options{.source = {.n_tokens = 4, .wrong_every = 3}};
  const SequenceStats stats = answer_alone(options, short_request()).finish.value().stats;
  int32_t n_drafted = 0;
  int32_t n_accepted = 0;
  for (size_t i = 0; i < kDraftTokensMax; ++i) {
    n_drafted += stats.drafted_by_position[i];
    n_accepted += stats.accepted_by_position[i];
    EXPECT_LE(stats.accepted_by_position[i], stats.drafted_by_position[i]);
    if (i > 0) {
      EXPECT_LE(stats.accepted_by_position[i], stats.accepted_by_position[i - 1]);
    }
  }
  EXPECT_EQ(n_drafted, stats.drafted);
  EXPECT_EQ(n_accepted, stats.accepted);
  EXPECT_EQ(stats.drafted_by_position[4], 0);
  EXPECT_GT(stats.drafted_by_position[0], stats.accepted_by_position[3]);
}

TEST(Engine, SaysWithEveryChunkWhatBecameOfItsDrafts) {
  const FixtureOptions options{.source = {.n_tokens = 4, .wrong_every = 3}};
  GenerateRequest request = short_request();
  // Some of these end with a step of one token, which has no draft and follows one that had.
  for (request.max_tokens = 36; request.max_tokens < 40; ++request.max_tokens) {
    const Answer answer = answer_alone(options, request);
    EXPECT_GT(answer.n_drafted, answer.n_accepted);
    EXPECT_EQ(answer.n_drafted, answer.finish->stats.drafted);
    EXPECT_EQ(answer.n_accepted, answer.finish->stats.accepted);
  }
}

TEST(Engine, TimesItsDraftsAndItsPassesWithinTheDecoding) {
  const FixtureOptions options{.source = {.n_tokens = 4, .wrong_every = 3}};
  const SequenceStats stats = answer_alone(options, short_request()).finish.value().stats;
  EXPECT_GT(stats.draft_ms, 0);
  EXPECT_GT(stats.verify_ms, 0);
  EXPECT_LE(stats.draft_ms + stats.verify_ms, stats.decode_ms);
}

TEST(Engine, CountsWhatItDid) {
  const FixtureOptions options{.source = {.n_tokens = 4, .wrong_every = 3}};
  EngineFixture fixture(options);
  const GenerateRequest request = short_request();
  const SequenceId id = fixture.engine.submit(request);
  fixture.run();
  const SequenceStats stats = fixture.answers[id].finish->stats;
  EXPECT_EQ(stats.prompt_tokens, 11);
  EXPECT_EQ(stats.completion_tokens, 60);
  EXPECT_EQ(stats.drafted, fixture.source.n_drafted);
  EXPECT_EQ(stats.accepted, fixture.source.n_accepted);
  EXPECT_EQ(stats.completion_tokens,
            stats.accepted + stats.steps);  // one token a step is nobody's draft
  EXPECT_EQ(stats.accepted_by_source, std::vector<int32_t>{stats.accepted});
  EXPECT_GT(stats.prefill_ms, 0);
  EXPECT_GT(stats.decode_ms, 0);
  const RunnerInfo& info = fixture.runner.info();
  EXPECT_EQ(stats.state_bytes,
            info.state_bytes + 128 * info.cache_bytes_per_token);  // 70 tokens lie in two blocks
}

TEST(Engine, TellsTheSourcesOfEveryEnd) {
  EngineFixture fixture({});
  const SequenceId first = fixture.engine.submit(short_request());
  const SequenceId second = fixture.engine.submit(short_request());
  fixture.step();
  fixture.engine.cancel(second);
  fixture.run();
  EXPECT_EQ(fixture.source.forgotten, (std::vector<SequenceId>{second, first}));
}

}  // namespace
}  // namespace slip
