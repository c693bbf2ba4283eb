// slipstream tune: measures what steps cost here, says what follows from it, and keeps it.

#include <cstdio>
#include <iterator>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "app/commands.h"
#include "app/environment.h"
#include "app/interrupt.h"
#include "app/model_session.h"
#include "app/stopwatch.h"
#include "app/tune_report.h"
#include "app/tuned_cost.h"
#include "base/error.h"
#include "base/json.h"
#include "draft/cost_measurement.h"

namespace slip {

namespace {

constexpr double kShortContext = 512;
// The measurement goes to 1,056 tokens and needs room for its steps.
constexpr int32_t kContextMin = 1280;
constexpr double kAcceptances[] = {0.5, 0.7, 0.9};

struct Tuning {
  std::string model, processor, device;
  bool has_head = false;
  double long_context = 0;
  double measured_ms = 0;
  CostSurface surface;
  std::string saved_to;  // empty: nowhere
};

double tuned_step_ms(const Tuning& tuning, int32_t rows, double context_tokens) {
  return tuning.surface.step_ms(
      {.n_rows = static_cast<double>(rows), .context_tokens = context_tokens});
}

void print_tuning_table(const Tuning& tuning) {
  std::printf("%s on %s, %s\n\n", tuning.model.c_str(), tuning.processor.c_str(),
              tuning.device.c_str());
  std::printf("%6s %14s %14s   %s\n", "", "ms a step", "ms a step",
              "drafts that must survive, context 512");
  std::printf("%6s %14s %14s   %8s %8s\n", "rows", "context 512",
              ("context " + std::to_string(static_cast<int>(tuning.long_context))).c_str(),
              "copied", tuning.has_head ? "mtp" : "");
  for (const int32_t rows : CostSurface::kRows) {
    std::printf("%6d %14.2f %14.2f", rows, tuned_step_ms(tuning, rows, kShortContext),
                tuned_step_ms(tuning, rows, tuning.long_context));
    if (rows > 1) {
      std::printf("   %7.0f%%", 100 * break_even_share(tuning.surface, rows, kShortContext, false));
      if (tuning.has_head)
        std::printf(" %7.0f%%", 100 * break_even_share(tuning.surface, rows, kShortContext, true));
    }
    std::printf("\n");
  }
  const CostSurface::Figures& figures = tuning.surface.figures();
  std::printf("\n1000 tokens of context: %.3f ms a step of 1 row, %.3f ms one of 32\n",
              1e3 * figures.context_ms_one_row, 1e3 * figures.context_ms_all_rows);
  if (!tuning.has_head) return;
  std::printf(
      "a run of the draft head: %.2f ms, and %.2f ms each token, %.2f ms more for 1000 tokens of "
      "context\n",
      figures.draft_run_ms, figures.draft_token_ms, 1e3 * figures.draft_context_ms);
  for (const double acceptance : kAcceptances) {
    const FixedDepth best = best_fixed_depth(tuning.surface, acceptance, kShortContext);
    std::printf("best fixed depth where %.0f%% of its tokens survive: %d (%.2f times plain)\n",
                100 * acceptance, best.n_tokens, best.speedup);
  }
}

nlohmann::ordered_json describe_rows(const Tuning& tuning) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const int32_t rows : CostSurface::kRows) {
    nlohmann::ordered_json row = {
        {"rows", rows},
        {"short_context_ms", tuned_step_ms(tuning, rows, kShortContext)},
        {"long_context_ms", tuned_step_ms(tuning, rows, tuning.long_context)}};
    if (rows > 1) {
      row["break_even_copied"] = break_even_share(tuning.surface, rows, kShortContext, false);
      if (tuning.has_head)
        row["break_even_mtp"] = break_even_share(tuning.surface, rows, kShortContext, true);
    }
    list.push_back(row);
  }
  return list;
}

void print_tuning_json(const Tuning& tuning) {
  const CostSurface::Figures& figures = tuning.surface.figures();
  nlohmann::ordered_json depths = nlohmann::ordered_json::array();
  for (const double acceptance : kAcceptances) {
    if (!tuning.has_head) break;
    const FixedDepth best = best_fixed_depth(tuning.surface, acceptance, kShortContext);
    depths.push_back(
        {{"acceptance", acceptance}, {"depth", best.n_tokens}, {"speedup", best.speedup}});
  }
  nlohmann::ordered_json object = {{"model", tuning.model},
                                   {"processor", tuning.processor},
                                   {"device", tuning.device},
                                   {"measured_ms", tuning.measured_ms},
                                   {"short_context_tokens", kShortContext},
                                   {"long_context_tokens", tuning.long_context},
                                   {"steps", describe_rows(tuning)},
                                   {"context_ms_one_row", figures.context_ms_one_row},
                                   {"context_ms_32_rows", figures.context_ms_all_rows},
                                   {"draft_run_ms", nullptr},
                                   {"draft_token_ms", nullptr},
                                   {"draft_context_ms", nullptr},
                                   {"best_fixed_mtp_depth", depths},
                                   {"saved_to", nullptr}};
  if (tuning.has_head) {
    object["draft_run_ms"] = figures.draft_run_ms;
    object["draft_token_ms"] = figures.draft_token_ms;
    object["draft_context_ms"] = figures.draft_context_ms;
  }
  if (!tuning.saved_to.empty()) object["saved_to"] = tuning.saved_to;
  std::printf("%s\n", to_text(object, 2).c_str());
}

void print_where_it_is_kept(const Tuning& tuning, bool has_failed) {
  if (!tuning.saved_to.empty()) {
    std::printf("\nKept in %s; --draft auto starts from it.\n", tuning.saved_to.c_str());
  } else if (!has_failed) {
    std::printf("\nNot kept: neither an absolute XDG_CACHE_HOME nor HOME is set.\n");
  }
}

}  // namespace

int run_tune(const TuneOptions& options) {
  const ModelFile file = ModelFile::open(options.model.model);
  const std::unique_ptr<Runner> runner = load_runner(file, options.model);
  const RunnerInfo& info = runner->info();
  if (info.context_tokens_max < kContextMin) {
    throw Error(ErrorCode::kInvalidArgument,
                "--context: found " + std::to_string(info.context_tokens_max) +
                    ", wanted at least " + std::to_string(kContextMin) +
                    ": what context costs is measured there");
  }
  const Stopwatch watch;
  Tuning tuning{.model = file.folder().string(),
                .processor = processor_name(),
                .device = info.device,
                .has_head = info.has_draft_head,
                .long_context = static_cast<double>(info.context_tokens_max),
                .surface = measure_cost(*runner, kMeasureThoroughlyMs, is_interrupted)};
  if (is_interrupted()) return kExitInterrupted;
  tuning.measured_ms = watch.ms();
  if (!tuning.surface.is_measured()) {
    throw Error(ErrorCode::kUnsupportedModel,
                tuning.model + ": found no step that ended within seconds, wanted one to measure");
  }
  const std::string identity = cost_identity(file, info);
  std::optional<Error> problem;  // said after what was measured
  if (const auto path = cost_file(read_environment(), identity)) {
    try {
      save_cost(*path, identity, tuning.surface.figures());
      tuning.saved_to = path->string();
    } catch (const Error& error) {
      problem = error;
    }
  }
  if (options.is_json) {
    print_tuning_json(tuning);
  } else {
    print_tuning_table(tuning);
    print_where_it_is_kept(tuning, problem.has_value());
  }
  if (problem) throw Error(*problem);
  return 0;
}

}  // namespace slip
