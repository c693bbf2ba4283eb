// slipstream generate: one prompt, one answer.

#include <cstdio>
#include <string>

#include <nlohmann/json.hpp>
#include <sys/resource.h>

#include "app/answer.h"
#include "app/commands.h"
#include "app/draft_probe.h"
#include "app/lanes_json.h"
#include "base/json.h"

namespace slip {

namespace {

int64_t peak_rss_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<int64_t>(usage.ru_maxrss) * 1024;
}

// Null where there is no first token.
nlohmann::ordered_json time_to_first_token(const SequenceStats& stats) {
  if (stats.completion_tokens == 0) return nullptr;
  return stats.prefill_ms;
}

// How the tokens were drawn. Greedy answers need no seed; one that nobody gave is of no use, since
// with it the other coupling would draw.
nlohmann::ordered_json describe_sampling(const GenerateRequest& request) {
  const bool is_greedy = request.sampling.shape.is_greedy();
  const bool is_seeded = request.coupling == Coupling::kSeeded;
  nlohmann::ordered_json result = {{"coupling", is_greedy   ? "greedy"
                                                : is_seeded ? "seeded"
                                                            : "rejection"}};
  result["seed"] = is_seeded ? nlohmann::ordered_json(request.seed) : nullptr;
  result["accept"] = name(request.sampling.rule);
  result["is_exact"] = is_greedy || is_exact(request.sampling.rule);
  return result;
}

nlohmann::ordered_json describe(const TokenLogprob& entry) {
  return {{"token", static_cast<int32_t>(entry.id)}, {"logprob", entry.logprob}};
}

nlohmann::ordered_json describe_logprobs(const std::vector<TokenLogprobs>& all) {
  nlohmann::ordered_json result = nlohmann::ordered_json::array();
  for (const TokenLogprobs& entry : all) {
    nlohmann::ordered_json object = describe(entry.token);
    object["top"] = nlohmann::ordered_json::array();
    for (const TokenLogprob& top : entry.top) object["top"].push_back(describe(top));
    result.push_back(std::move(object));
  }
  return result;
}

void print_json(const ModelSession& session, const GenerateRequest& request, const Answer& answer,
                const Chooser& chooser) {
  const SequenceStats& stats = answer.finish.stats;
  nlohmann::ordered_json tokens = nlohmann::ordered_json::array();
  for (const TokenId token : answer.tokens) tokens.push_back(static_cast<int32_t>(token));
  nlohmann::ordered_json object = {
      {"text", answer.text},
      {"tokens", tokens},
      {"prompt_tokens", stats.prompt_tokens},
      {"completion_tokens", stats.completion_tokens},
      {"finish_reason", name(answer.finish.reason)},
      {"sampling", describe_sampling(request)},
      {"stats",
       {{"steps", stats.steps},
        {"drafted", stats.drafted},
        {"accepted", stats.accepted},
        {"tokens_per_step", tokens_per_step(stats)},
        {"accepted_by_source", accepted_by_source(chooser, stats)},
        {"prefill_tokens_per_second", prefill_tokens_per_second(stats)},
        {"decode_tokens_per_second", decode_tokens_per_second(stats)},
        {"time_to_first_token_ms", time_to_first_token(stats)},
        {"load_ms", session.load_ms},
        {"weight_bytes", session.runner->info().weight_bytes},
        {"state_bytes", stats.state_bytes},
        {"peak_rss_bytes", peak_rss_bytes()}}},
      {"lanes", lanes_json(session.runner->lanes())},
  };
  if (request.n_logprobs) object["logprobs"] = describe_logprobs(answer.logprobs);
  std::printf("%s\n", to_text(object, 2).c_str());
}

void print_summary(const GenerateRequest& request, const Answer& answer) {
  const bool is_lossy = request.sampling.shape.temperature > 0 && !is_exact(request.sampling.rule);
  if (is_lossy && answer.finish.stats.drafted > 0) {
    std::fprintf(stderr, "\n[--accept %s: drafts changed the law of this answer]",
                 std::string(name(request.sampling.rule)).c_str());
  }
  const SequenceStats& stats = answer.finish.stats;
  if (stats.completion_tokens == 0) {
    std::fprintf(stderr, "\n[%s] before the first token, prompt %d tokens\n",
                 std::string(name(answer.finish.reason)).c_str(), stats.prompt_tokens);
    return;
  }
  std::fprintf(
      stderr,
      "\n[%s] prompt %d tokens at %.0f/s, answer %d tokens at %.0f/s, %.2f tokens per step\n",
      std::string(name(answer.finish.reason)).c_str(), stats.prompt_tokens,
      prefill_tokens_per_second(stats), stats.completion_tokens, decode_tokens_per_second(stats),
      tokens_per_step(stats));
}

}  // namespace

int run_generate(const GenerateOptions& options) {
  ModelSession session = load_session(options.model);
  const Drafting drafting = prepare_drafting(options.draft, session);
  if (drafting.runs_draft_head) warn_of_draft_head(session);
  const GenerateRequest request = make_request(session, options);
  const Answer result = answer(session, drafting, request, /*is_streamed=*/!options.is_json);
  if (options.is_json) {
    print_json(session, request, result, *drafting.chooser);
  } else {
    print_summary(request, result);
  }
  return result.finish.reason == FinishReason::kCancelled ? kExitInterrupted : 0;
}

}  // namespace slip
