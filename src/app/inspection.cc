#include "app/inspection.h"

#include <algorithm>
#include <memory>

#include "app/backends.h"
#include "app/builtin_text.h"
#include "app/eval_text.h"
#include "app/memory_purpose.h"
#include "app/model_session.h"
#include "app/stopwatch.h"
#include "base/error.h"
#include "model/weights.h"

namespace slip {

namespace {

constexpr size_t kTensorNamesShown = 8;

// A fault of the model becomes part of the answer; anything else is the caller's.
bool is_fault_of_the_model(ErrorCode code) {
  return code == ErrorCode::kUnsupportedModel || code == ErrorCode::kCorruptFile ||
         code == ErrorCode::kNotFound || code == ErrorCode::kInsufficientMemory;
}

// Runs `action`; the sentence of its refusal, or nothing.
template <class Action>
std::string problem_of(Action action) {
  try {
    action();
    return "";
  } catch (const Error& error) {
    if (!is_fault_of_the_model(error.code())) throw;
    return error.what();
  }
}

WeightFacts gather_weights(const ModelFile& file) {
  LoadedModel model = load_model(file);
  WeightFacts facts{.trunk = sum_trunk(model.weights),
                    .draft_head = sum_draft_head(model.weights),
                    .unused = std::move(model.unused)};
  for (const std::vector<std::byte>& bytes : model.owned)
    facts.bytes_copied += static_cast<int64_t>(bytes.size());
  return facts;
}

std::string model_type_of(const nlohmann::json& config) {
  const auto it = config.find("model_type");
  return it != config.end() && it->is_string() ? it->get<std::string>() : "";
}

std::string context_of(const ModelOptions& options) {
  return options.context_tokens == 0
             ? "the default context"
             : "a context of " + std::to_string(options.context_tokens) + " tokens";
}

}  // namespace

Inspection inspect(const ModelOptions& options) {
  find_device(options.device);
  const ModelFile file = ModelFile::open(options.model);
  Inspection result{.folder = file.folder().string(),
                    .model_type = model_type_of(file.config()),
                    .file_bytes = static_cast<int64_t>(file.n_bytes()),
                    .n_tensors = static_cast<int64_t>(file.tensors().size()),
                    .tokenizer = {.is_present = !file.tokenizer_json().empty()}};
  for (const auto& [name, tensor] : file.tensors()) {
    if (result.tensor_names.size() < kTensorNamesShown) result.tensor_names.push_back(name);
  }
  std::optional<Tokenizer> tokenizer;
  if (result.tokenizer.is_present) {
    result.tokenizer.problem = problem_of([&] { tokenizer.emplace(load_tokenizer(file)); });
  }
  if (tokenizer) result.tokenizer_vocab_size = tokenizer->vocab_size();
  CompanionFile& chat_template = result.chat_template;
  chat_template.problem =
      problem_of([&] { chat_template.is_present = load_chat_template(file).has_value(); });
  if (!chat_template.problem.empty()) chat_template.is_present = true;

  std::unique_ptr<Runner> runner;
  result.problem = problem_of([&] {
    result.config = read_config(file);
    result.weights = gather_weights(file);
    const Stopwatch watch;
    runner = with_memory_for("running it with " + context_of(options),
                             [&] { return load_runner(file, options); });
    result.load_ms = watch.ms();
    result.plan = runner->info();
    result.lanes = runner->lanes();
  });
  if (!runner || !tokenizer || !runner->info().has_draft_head) return result;
  const std::vector<TokenId> text = encode_judged(*tokenizer, builtin_text());
  const bool fits = std::ranges::all_of(text, [&](TokenId token) {
    return index(token) < static_cast<size_t>(runner->info().vocab_size);
  });
  if (fits) result.draft_probe = probe_draft_head(*runner, text, {});
  return result;
}

}  // namespace slip
