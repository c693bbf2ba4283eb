// slipstream bench compare: where the same model on the same text would choose another token under
// another setting, and how close those choices were. Passes only where every difference is a tie.

#include <cstdio>
#include <memory>
#include <span>
#include <string>

#include <nlohmann/json.hpp>

#include "app/argmax_differences.h"
#include "app/commands.h"
#include "app/eval_text.h"
#include "app/evaluation.h"
#include "app/input_text.h"
#include "app/memory_purpose.h"
#include "app/model_session.h"
#include "app/standard_output.h"
#include "app/tuned_cost.h"
#include "base/error.h"
#include "base/json.h"
#include "model/weights.h"

namespace slip {

namespace {

constexpr size_t kShownDifferencesMax = 20;

// The model under one setting.
struct ComparedSide {
  std::unique_ptr<Runner> runner;
  std::string kv_type;
  int32_t n_rows;  // of a verify segment

  std::string label() const {
    return runner->info().device + ", cache " + kv_type + ", " + std::to_string(n_rows) +
           (n_rows == 1 ? " row" : " rows");
  }
};

struct ComparedSides {
  ComparedSide side, other;
};

ModelOptions other_setting(const BenchCompareOptions& options) {
  ModelOptions other = options.model;
  if (!options.against_kernels.empty()) other.kernels = options.against_kernels;
  if (!options.against_kv_type.empty()) other.kv_type = options.against_kv_type;
  if (options.against_threads > 0) other.n_threads = options.against_threads;
  return other;
}

void require_other_setting(const BenchCompareOptions& options) {
  if (!options.against_kernels.empty() || !options.against_kv_type.empty() ||
      options.against_threads > 0 || options.n_against_rows > 0)
    return;
  throw Error(ErrorCode::kInvalidArgument,
              "--against-...: found none, wanted --against-kernels, --against-threads, "
              "--against-kv-type or --against-rows");
}

ComparedSides load_both(const ModelFile& file, const BenchCompareOptions& options,
                        int32_t window_tokens) {
  const auto load = [&](ModelOptions model, int32_t n_rows) -> ComparedSide {
    model.context_tokens = window_tokens;
    return {.runner = with_memory_for("running " + file.folder().string() + " twice",
                                      [&] { return load_runner(file, model); }),
            .kv_type = model.kv_type,
            .n_rows = n_rows};
  };
  const int32_t n_other_rows = options.n_against_rows > 0 ? options.n_against_rows : options.n_rows;
  return {.side = load(options.model, options.n_rows),
          .other = load(other_setting(options), n_other_rows)};
}

nlohmann::ordered_json to_json(const ArgmaxDifference& difference) {
  return {{"token", difference.index},
          {"choice", static_cast<int32_t>(difference.choice)},
          {"against_choice", static_cast<int32_t>(difference.other_choice)},
          {"margin", difference.margin},
          {"against_margin", difference.other_margin}};
}

void print_json(const BenchCompareOptions& options, const ComparedSides& sides,
                const ArgmaxDifferences& found) {
  nlohmann::ordered_json line = {{"bench", "compare"},
                                 {"commit", options.commit},
                                 {"processor", processor_name()},
                                 {"file", options.file},
                                 {"setting", sides.side.label()},
                                 {"against", sides.other.label()},
                                 {"tokens", found.n_rows()},
                                 {"differences", found.all().size()},
                                 {"ties", found.n_ties()},
                                 {"largest_logit_difference", found.largest_logit_difference()},
                                 {"different", nlohmann::ordered_json::array()}};
  for (const ArgmaxDifference& difference : found.all())
    line["different"].push_back(to_json(difference));
  std::printf("%s\n", to_text(line).c_str());
}

void print_table(const ComparedSides& sides, const ArgmaxDifferences& found) {
  std::printf("%s\nagainst %s\n\n", sides.side.label().c_str(), sides.other.label().c_str());
  std::printf(
      "%lld tokens, %zu other choices, of these %lld at exact ties; largest difference of "
      "a logit %.4g\n",
      static_cast<long long>(found.n_rows()), found.all().size(),
      static_cast<long long>(found.n_ties()), found.largest_logit_difference());
  if (found.all().empty()) return;
  std::printf("\n%8s %8s %8s %12s %12s\n", "token", "choice", "against", "margin", "against");
  const size_t n_shown = std::min(found.all().size(), kShownDifferencesMax);
  for (const ArgmaxDifference& d : std::span(found.all()).first(n_shown)) {
    std::printf("%8d %8d %8d %12.4g %12.4g\n", d.index, static_cast<int32_t>(d.choice),
                static_cast<int32_t>(d.other_choice), d.margin, d.other_margin);
  }
  if (found.all().size() > n_shown) std::printf("... and %zu more\n", found.all().size() - n_shown);
}

}  // namespace

int run_bench_compare(const BenchCompareOptions& options) {
  require_other_setting(options);
  const ModelFile file = ModelFile::open(options.model.model);
  const EvalText text = read_eval_text(read_input_text(options.file), input_name(options.file),
                                       load_tokenizer(file), read_config(file), options.windows);
  const ComparedSides sides = load_both(file, options, text.window_tokens);
  EvalPlan plan = text.plan();
  plan.n_rows = sides.side.n_rows;
  plan.n_reference_rows = sides.other.n_rows;
  ArgmaxDifferences found;
  const bool is_read =
      read_rows(*sides.side.runner, sides.other.runner.get(), plan,
                [&](const EvalRow& row) { found.add(row.index, row.judged, row.reference); });
  if (!is_read) return kExitInterrupted;
  if (options.is_json) {
    print_json(options, sides, found);
  } else {
    print_table(sides, found);
  }
  flush_stdout();
  return found.n_ties() == static_cast<int64_t>(found.all().size()) ? 0 : 1;
}

}  // namespace slip
