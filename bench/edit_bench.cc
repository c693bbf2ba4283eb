// Tokens per second of one prompt under every draft source, arms interleaved, beside the bandwidth
// floor measured in the same run. One JSON line per arm on stdout; what they mean stands in
// docs/benchmarking.md.

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "app/answer.h"
#include "app/tuned_cost.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/log.h"
#include "draft/cost_measurement.h"
#include "read_floor.h"

namespace slip::bench {
namespace {

struct BenchOptions {
  ModelOptions model;
  PromptOptions prompt;
  std::vector<std::string> arms = {"none", "mtp", "copy", "auto"};
  int32_t max_tokens = 0;
  int32_t n_runs = 5;
  std::string commit = "unknown";
};

struct Arm {
  std::string name;
  Drafting drafting;
  std::vector<Answer> answers;
};

template <class Values>
double median(Values values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::vector<double> figures(const Arm& arm, double (*figure)(const SequenceStats&)) {
  std::vector<double> values;
  for (const Answer& run : arm.answers) values.push_back(figure(run.finish.stats));
  return values;
}

nlohmann::ordered_json describe(const Arm& arm, const BenchOptions& options, const RunnerInfo& info,
                                double read_gb_per_s) {
  const std::vector<double> decode = figures(arm, decode_tokens_per_second);
  const SequenceStats& stats = arm.answers.front().finish.stats;
  // A plain step reads the weights once and the cache of everything before it: here, of the
  // answer's middle.
  const double context = stats.prompt_tokens + stats.completion_tokens / 2.0;
  const double step_bytes = static_cast<double>(info.step_weight_bytes) +
                            context * static_cast<double>(info.step_cache_bytes_per_token);
  const double floor = read_gb_per_s * 1e9 / step_bytes;
  return {{"bench", "edit"},
          {"commit", options.commit},
          {"processor", processor_name()},
          {"device", info.device},
          {"prompt", options.prompt.file},
          {"arm", arm.name},
          {"runs", arm.answers.size()},
          {"prompt_tokens", stats.prompt_tokens},
          {"completion_tokens", stats.completion_tokens},
          {"tokens_hash", std::to_string(hash_tokens(arm.answers.front().tokens))},
          {"decode_tokens_per_second", median(decode)},
          {"decode_tokens_per_second_best", *std::max_element(decode.begin(), decode.end())},
          {"prefill_tokens_per_second", median(figures(arm, prefill_tokens_per_second))},
          {"tokens_per_step", tokens_per_step(stats)},
          {"steps", stats.steps},
          {"drafted", stats.drafted},
          {"accepted_by_source", accepted_by_source(*arm.drafting.chooser, stats)},
          {"read_gb_per_second", read_gb_per_s},
          {"plain_step_bytes", step_bytes},
          {"plain_floor_tokens_per_second", floor},
          {"share_of_plain_floor", median(decode) / floor}};
}

void run(const BenchOptions& options) {
  const ModelSession session = load_session(options.model);
  std::vector<Arm> arms;
  const CostSurface cost = measure_cost(*session.runner, kMeasureAtLoadMs);
  for (const std::string& name : options.arms) {
    arms.push_back(
        {.name = name, .drafting = make_drafting({.source = name}, *session.runner, cost)});
  }
  GenerateRequest request{.prompt = read_prompt(session, options.prompt),
                          .stop_ids = session.stop_ids};
  request.max_tokens =
      resolve_max_tokens(session.runner->info(), request.prompt.size(), options.max_tokens);

  ThreadPool pool(options.model.n_threads);
  ReadFloor floor;
  std::vector<double> read_rates;
  for (int32_t i = 0; i < options.n_runs; ++i) {
    read_rates.push_back(floor.measure(pool));
    for (Arm& arm : arms)
      arm.answers.push_back(answer(session, arm.drafting, request, /*is_streamed=*/false));
  }
  for (const Arm& arm : arms) {
    std::printf("%s\n",
                describe(arm, options, session.runner->info(), median(read_rates)).dump().c_str());
  }
}

}  // namespace
}  // namespace slip::bench

int main(int argc, char** argv) {
  slip::log::init(slip::log::Level::kWarning);
  slip::bench::BenchOptions options;
  options.model.n_threads = 2;
  CLI::App app("Tokens per second of one prompt under every draft source", "edit_bench");
  app.add_option("--model", options.model.model, "Model folder")->required();
  app.add_option("--prompt-file", options.prompt.file, "File with the prompt")->required();
  app.add_flag("--chat", options.prompt.is_chat, "Apply the chat template");
  app.add_option("--arm", options.arms, "Draft sources to compare")->capture_default_str();
  app.add_option("--max-tokens", options.max_tokens, "Most tokens to generate");
  app.add_option("--runs", options.n_runs, "Runs of each arm")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--threads", options.model.n_threads, "CPU threads")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  app.add_option("--commit", options.commit, "Recorded with the results");
  CLI11_PARSE(app, argc, argv);
  try {
    slip::bench::run(options);
  } catch (const slip::Error& error) {
    std::fprintf(stderr, "edit_bench: %s\n", error.what());
    return 1;
  }
  return 0;
}
