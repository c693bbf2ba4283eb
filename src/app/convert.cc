// slipstream convert: a checkpoint in 16 or 32 bits becomes a pack in 4 or 8, and the loss is
// measured before the pack appears.

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "app/backends.h"
#include "app/builtin_text.h"
#include "app/commands.h"
#include "app/convert_plan.h"
#include "app/convert_tensors.h"
#include "app/eval_text.h"
#include "app/evaluation.h"
#include "app/input_text.h"
#include "app/memory_purpose.h"
#include "app/model_session.h"
#include "app/output_folder.h"
#include "app/standard_output.h"
#include "base/error.h"
#include "base/thread_pool.h"
#include "io/json_file.h"
#include "model/weights.h"

namespace slip {

namespace {

namespace fs = std::filesystem;

// What a sound conversion stays below. Rounding to nearest in groups of 64 costs models of a few
// billion parameters in the order of 0.001 nats in 8 bits and 0.05 in 4; small ones lose more, so
// the limits leave room for them. A mistake in codes, scales or names costs whole nats.
struct Limits {
  int32_t bits;
  double kl_max;
  double agreement_min;
};
constexpr std::array kLimits = {Limits{4, 0.25, 0.80}, Limits{8, 0.02, 0.95}};

Limits limits_of(const ConvertOptions& options) {
  Limits limits = *std::ranges::find(kLimits, options.bits, &Limits::bits);
  limits.kl_max = options.max_kl.value_or(limits.kl_max);
  limits.agreement_min = options.min_agreement.value_or(limits.agreement_min);
  return limits;
}

// Tokenizer, template, generation defaults, licence; weights and the index have their own writers.
bool is_companion(const fs::path& file) {
  constexpr std::array<std::string_view, 4> kExtensions = {".json", ".jinja", ".txt", ".model"};
  constexpr std::array<std::string_view, 2> kWrittenAnew = {"config.json",
                                                            "model.safetensors.index.json"};
  const std::string name = file.filename().string();
  if (name.starts_with('.') || std::ranges::count(kWrittenAnew, name) > 0) return false;
  return name.starts_with("LICENSE") ||
         std::ranges::count(kExtensions, file.extension().string()) > 0;
}

void copy_companions(const fs::path& source, const OutputFolder& out) {
  for (const fs::directory_entry& entry : fs::directory_iterator(source)) {
    if (entry.is_regular_file() && is_companion(entry.path())) out.copy(entry.path());
  }
}

// Keys in the order of the source; ModelFile::open() has checked the same text.
nlohmann::ordered_json read_ordered_config(const fs::path& folder) {
  return nlohmann::ordered_json::parse(read_text_file(folder / "config.json"));
}

size_t sum_of_bytes(const std::vector<TensorSpec>& specs) {
  size_t sum = 0;
  for (const TensorSpec& spec : specs) sum += spec.n_bytes();
  return sum;
}

ConvertRules rules_of(const ConvertOptions& options) {
  return {.bits = options.bits, .group_size = options.group_size, .overrides = options.overrides};
}

std::vector<TensorSpec> specs_of(const ConvertPlan& plan) {
  std::vector<TensorSpec> specs;
  for (const ConvertedTensor& tensor : plan.tensors) {
    for (TensorSpec& spec : specs_of(tensor)) specs.push_back(std::move(spec));
  }
  return specs;
}

// False when the user interrupts.
bool write_model(const ModelFile& source, const ConvertPlan& plan, const ConvertOptions& options,
                 const OutputFolder& out) {
  ThreadPool pool(options.model.n_threads > 0 ? options.model.n_threads : usable_cores());
  ModelWriter writer(out.path(), specs_of(plan), kShardBytesMax);
  if (!write_tensors(plan, writer, pool)) return false;
  out.write(
      "config.json",
      make_config(read_ordered_config(source.folder()), plan, rules_of(options)).dump(2) + "\n");
  copy_companions(source.folder(), out);
  return true;
}

EvalText read_text_to_judge_by(const ModelFile& source, const Tokenizer& tokenizer,
                               const ConvertOptions& options) {
  const ModelConfig config = read_config(source);
  if (options.eval_file.empty())
    return read_eval_text(builtin_text(), "the built-in text", tokenizer, config, {});
  return read_eval_text(read_input_text(options.eval_file), input_name(options.eval_file),
                        tokenizer, config, {});
}

// As both models are run for the measurement.
ModelOptions options_for(const EvalText& text, const ConvertOptions& options) {
  ModelOptions model = options.model;
  model.context_tokens = text.window_tokens;
  return model;
}

// How far the model in `folder` is from `reference`. Nothing when the user interrupts.
std::optional<Evaluation> measure(Runner& reference, const fs::path& folder, const EvalText& text,
                                  const Tokenizer& tokenizer, const ConvertOptions& options) {
  const ModelFile converted = ModelFile::open(folder);
  const std::unique_ptr<Runner> judged = with_memory_for("running the result to measure it", [&] {
    return load_runner(converted, options_for(text, options));
  });
  return evaluate(*judged, &reference, text.plan(), tokenizer);
}

std::string describe(const DivergenceSummary& divergence) {
  char text[160];
  std::snprintf(text, sizeof(text),
                "KL divergence from the source: mean %.4g, 99 %% %.4g, max %.4g nats; top-1 "
                "agreement %.2f %%",
                divergence.kl_mean, divergence.kl_p99, divergence.kl_max,
                100 * divergence.agreement);
  return text;
}

// A mean that is not a number passes no limit.
void require_small_loss(const DivergenceSummary& divergence, const ConvertOptions& options) {
  const Limits limits = limits_of(options);
  const bool is_small =
      divergence.kl_mean <= limits.kl_max && divergence.agreement >= limits.agreement_min;
  if (is_small || options.is_forced) return;
  char wanted[160];
  std::snprintf(
      wanted, sizeof(wanted),
      "wanted a mean of at most %.4g nats and %.2f %%; nothing was written, --force keeps "
      "it all the same",
      limits.kl_max, 100 * limits.agreement_min);
  throw Error(ErrorCode::kOutputFailed, options.out + ": " + describe(divergence) + ", " + wanted);
}

void report(const ModelFile& source, const ConvertPlan& plan, const Evaluation& evaluation,
            const ConvertOptions& options) {
  const size_t n_matrices = static_cast<size_t>(plan.n_quantised + plan.n_kept_matrices);
  std::printf("%s: %d matrices in affine codes, %d kept as they are, %zu other tensors; %s -> %s\n",
              one_line(options.out).c_str(), plan.n_quantised, plan.n_kept_matrices,
              plan.tensors.size() - n_matrices,
              format_bytes(static_cast<int64_t>(source.n_bytes())).c_str(),
              format_bytes(static_cast<int64_t>(sum_of_bytes(specs_of(plan)))).c_str());
  if (!plan.dropped.empty()) {
    std::printf("%zu tensors that the text model does not use were left out\n",
                plan.dropped.size());
  }
  std::printf("%lld tokens: %s\n", static_cast<long long>(evaluation.score.n_tokens),
              describe(evaluation.divergence).c_str());
}

}  // namespace

int run_convert(const ConvertOptions& options) {
  const ModelFile source = ModelFile::open(options.model.model);
  find_device(options.model.device);
  // What may be refused comes before the work.
  const Tokenizer tokenizer = load_tokenizer(source);
  const EvalText text = read_text_to_judge_by(source, tokenizer, options);
  OutputFolder out(options.out);
  const ConvertPlan plan = plan_conversion(source, load_model(source), rules_of(options));
  const std::unique_ptr<Runner> reference =
      with_memory_for("running the source to measure the result by it",
                      [&] { return load_runner(source, options_for(text, options)); });

  if (!write_model(source, plan, options, out)) return kExitInterrupted;
  const std::optional<Evaluation> evaluation =
      measure(*reference, out.path(), text, tokenizer, options);
  if (!evaluation) return kExitInterrupted;
  require_small_loss(evaluation->divergence, options);
  out.commit();
  // A stdout that is closed or full must not cost the work.
  report(source, plan, *evaluation, options);
  return 0;
}

}  // namespace slip
