// slipstream eval: how well a model predicts a text, and how far it is from another setting:
// another model of the same vocabulary, or the same one with other kernels or threads.

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "app/commands.h"
#include "app/eval_text.h"
#include "app/evaluation.h"
#include "app/input_text.h"
#include "app/memory_purpose.h"
#include "app/model_session.h"
#include "base/error.h"
#include "base/json.h"
#include "model/weights.h"

namespace slip {

namespace {

// What the model is compared with.
struct Reference {
  std::string label;
  ModelOptions options;
};

std::vector<Reference> references(const EvalOptions& options, int32_t window_tokens) {
  ModelOptions base = options.model;
  base.context_tokens = window_tokens;
  std::vector<Reference> result;
  if (!options.against.empty()) {
    result.push_back({.label = options.against, .options = base});
    result.back().options.model = options.against;
  }
  for (const std::string& kernels : options.against_kernels) {
    result.push_back({.label = "kernels " + kernels, .options = base});
    result.back().options.kernels = kernels;
  }
  for (const std::string& kv_type : options.against_kv_types) {
    result.push_back({.label = "cache " + kv_type, .options = base});
    result.back().options.kv_type = kv_type;
  }
  for (const int32_t n_threads : options.against_threads) {
    result.push_back({.label = std::to_string(n_threads) + " threads", .options = base});
    result.back().options.n_threads = n_threads;
  }
  return result;
}

std::unique_ptr<Runner> load(const ModelFile& file, const ModelOptions& options) {
  return with_memory_for("running " + file.folder().string() + " in windows of " +
                             std::to_string(options.context_tokens) + " tokens",
                         [&] { return load_runner(file, options); });
}

void require_window(const ModelFile& file, const EvalText& text, const std::string& label) {
  const int32_t longest = read_config(file).context_tokens_max;
  if (longest >= text.window_tokens) return;
  throw Error(ErrorCode::kInvalidArgument, "--window: found " + std::to_string(text.window_tokens) +
                                               ", wanted at most " + std::to_string(longest) +
                                               ", the context of " + label);
}

// Rows can be compared only where a token means the same in both.
void require_same_vocabulary(const EvalText& text, const std::string& written,
                             const ModelFile& file, const Runner& judged, const Runner& other,
                             const std::string& label) {
  const int32_t wanted = judged.info().vocab_size;
  if (other.info().vocab_size != wanted) {
    throw Error(ErrorCode::kInvalidArgument,
                "--against: found " + std::to_string(other.info().vocab_size) + " tokens in " +
                    label + ", wanted the " + std::to_string(wanted) + " of --model");
  }
  if (file.tokenizer_json().empty()) return;  // its tensors alone were brought
  if (encode_judged(load_tokenizer(file), written) != text.tokens) {
    throw Error(ErrorCode::kInvalidArgument,
                "--against: the tokenizer of " + label +
                    " gives other tokens for this text, wanted those of --model");
  }
}

nlohmann::ordered_json score_json(const TextScore& score) {
  return {{"perplexity", score.perplexity()},
          {"nats_per_token", score.nats / static_cast<double>(score.n_tokens)},
          {"bits_per_byte", score.bits_per_byte()}};
}

nlohmann::ordered_json divergence_json(const std::string& label, const Evaluation& evaluation) {
  const DivergenceSummary& d = evaluation.divergence;
  nlohmann::ordered_json object = {{"reference", label},
                                   {"kl_mean_nats", d.kl_mean},
                                   {"kl_p99_nats", d.kl_p99},
                                   {"kl_max_nats", d.kl_max},
                                   {"top1_agreement", d.agreement}};
  object.update(score_json(evaluation.reference_score));
  return object;
}

class Report {
 public:
  Report(const EvalOptions& options, const EvalText& text) : options_(options), text_(text) {}

  void add_score(const TextScore& score) {
    json_ = {{"file", options_.file},
             {"text_tokens", text_.tokens.size()},
             {"scored_tokens", score.n_tokens},
             {"scored_bytes", score.n_bytes},
             {"window_tokens", text_.window_tokens},
             {"stride_tokens", text_.stride_tokens}};
    json_.update(score_json(score));
    json_["against"] = nlohmann::ordered_json::array();
    if (options_.is_json) return;
    std::printf("%s: %zu tokens, windows of %d, %d apart\n", input_name(options_.file).c_str(),
                text_.tokens.size(), text_.window_tokens, text_.stride_tokens);
    std::printf("perplexity %.4f (%.4f nats per token), %.4f bits per byte\n", score.perplexity(),
                score.nats / static_cast<double>(score.n_tokens), score.bits_per_byte());
  }

  void add_reference(const std::string& label, const Evaluation& evaluation) {
    json_["against"].push_back(divergence_json(label, evaluation));
    if (options_.is_json) return;
    const DivergenceSummary& d = evaluation.divergence;
    std::printf(
        "against %s: KL divergence mean %.4g, 99 %% %.4g, max %.4g nats; top-1 agreement "
        "%.2f %%; perplexity there %.4f\n",
        label.c_str(), d.kl_mean, d.kl_p99, d.kl_max, 100 * d.agreement,
        evaluation.reference_score.perplexity());
  }

  void finish() const {
    if (!options_.is_json) return;
    // A path need not be UTF-8.
    const std::string text = to_text(json_, 2);
    std::printf("%s\n", text.c_str());
  }

 private:
  const EvalOptions& options_;
  const EvalText& text_;
  nlohmann::ordered_json json_;
};

}  // namespace

int run_eval(const EvalOptions& options) {
  const ModelFile file = ModelFile::open(options.model.model);
  const std::string written = read_input_text(options.file);
  const Tokenizer tokenizer = load_tokenizer(file);
  const EvalText text = read_eval_text(written, input_name(options.file), tokenizer,
                                       read_config(file), options.windows);
  const EvalPlan plan = text.plan();
  ModelOptions model = options.model;
  model.context_tokens = text.window_tokens;
  const std::unique_ptr<Runner> judged = load(file, model);

  Report report(options, text);
  const std::vector<Reference> others = references(options, text.window_tokens);
  if (others.empty()) {
    const auto evaluation = evaluate(*judged, nullptr, plan, tokenizer);
    if (!evaluation) return kExitInterrupted;
    report.add_score(evaluation->score);
  }
  for (const Reference& other : others) {
    const ModelFile other_file = ModelFile::open(other.options.model);
    require_window(other_file, text, other.label);
    const std::unique_ptr<Runner> runner = load(other_file, other.options);
    require_same_vocabulary(text, written, other_file, *judged, *runner, other.label);
    const auto evaluation = evaluate(*judged, runner.get(), plan, tokenizer);
    if (!evaluation) return kExitInterrupted;
    if (&other == &others.front()) report.add_score(evaluation->score);
    report.add_reference(other.label, *evaluation);
  }
  report.finish();
  return 0;
}

}  // namespace slip
