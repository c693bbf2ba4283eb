#include "app/model_session.h"

#include <algorithm>
#include <chrono>
#include <ctime>

#include "app/backends.h"
#include "app/input_text.h"
#include "app/kv_type.h"
#include "app/memory_purpose.h"
#include "app/progress_line.h"
#include "app/standard_output.h"
#include "app/stopwatch.h"
#include "base/error.h"
#include "io/json_file.h"
#include "model/weights.h"

namespace slip {

namespace {

// The ids under `key`: one number or a list of them; nothing where the key is absent or null.
void append_ids(const nlohmann::json& config, const std::string& origin, int32_t vocab_size,
                std::vector<TokenId>& ids) {
  const auto it = config.find("eos_token_id");
  if (it == config.end() || it->is_null()) return;
  const nlohmann::json list = it->is_array() ? *it : nlohmann::json::array({*it});
  for (const nlohmann::json& id : list) {
    const bool is_good =
        id.is_number_integer() && id.get<int64_t>() >= 0 && id.get<int64_t>() < vocab_size;
    if (!is_good) {
      throw Error(ErrorCode::kCorruptFile, origin + ": eos_token_id: found " + id.dump() +
                                               ", wanted token ids below " +
                                               std::to_string(vocab_size));
    }
    ids.push_back(TokenId{id.get<int32_t>()});
  }
}

// generation_config.json is the authority; config.json stands in where it says nothing.
std::vector<TokenId> load_stop_ids(const ModelFile& file, int32_t vocab_size) {
  std::vector<TokenId> ids;
  const std::filesystem::path path = file.generation_config();
  if (!path.empty()) {
    const nlohmann::json config = parse_json(read_text_file(path), path.string());
    if (!config.is_object())
      throw Error(ErrorCode::kCorruptFile, path.string() + ": found no object, wanted one");
    append_ids(config, path.string(), vocab_size, ids);
  }
  if (ids.empty()) append_ids(file.config(), "config.json", vocab_size, ids);
  if (ids.empty() && file.config().contains("text_config")) {
    append_ids(file.config()["text_config"], "config.json: text_config", vocab_size, ids);
  }
  return ids;
}

// The template of an older folder: a text, or a list of named ones of which "default" is meant.
std::optional<std::string> embedded_template(const nlohmann::json& config,
                                             const std::string& origin) {
  const nlohmann::json found =
      config.is_object() ? config.value("chat_template", nlohmann::json()) : nlohmann::json();
  if (found.is_null()) return std::nullopt;
  if (found.is_string()) return found.get<std::string>();
  if (found.is_array()) {
    for (const nlohmann::json& entry : found) {
      const bool is_meant = entry.is_object() && entry.value("name", nlohmann::json()) == "default";
      if (is_meant && entry.contains("template") && entry["template"].is_string())
        return entry["template"].get<std::string>();
    }
  }
  throw Error(ErrorCode::kCorruptFile, origin +
                                           ": chat_template: found neither a text nor a list "
                                           "with a template named \"default\"");
}

// The special tokens that templates print by name; a model without the file has none.
nlohmann::ordered_json load_template_variables(const ModelFile& file) {
  const std::filesystem::path path = file.tokenizer_config();
  if (path.empty()) return nlohmann::ordered_json::object();
  return special_token_variables(parse_json(read_text_file(path), path.string()));
}

// What the clock on the wall shows, for templates that print the date.
std::chrono::local_seconds wall_clock() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  return std::chrono::local_seconds(std::chrono::seconds(now + local.tm_gmtoff));
}

std::string read_prompt_text(const PromptOptions& options) {
  std::string text = options.file.empty() ? options.text : read_input_text(options.file);
  if (text.empty()) {
    throw Error(ErrorCode::kInvalidArgument,
                options.file.empty()
                    ? "--prompt: found an empty text, wanted at least one character"
                    : options.file + ": the prompt file is empty, wanted at least one character");
  }
  return text;
}

}  // namespace

Tokenizer load_tokenizer(const ModelFile& file) {
  const std::filesystem::path path = file.tokenizer_json();
  if (path.empty())
    throw Error(ErrorCode::kNotFound, file.folder().string() + ": tokenizer.json is missing");
  return Tokenizer::parse(read_text_file(path), path.string());
}

std::optional<ChatTemplate> load_chat_template(const ModelFile& file) {
  const std::filesystem::path path = file.chat_template();
  if (!path.empty()) return ChatTemplate::parse(read_text_file(path), path.string());
  const std::filesystem::path config = file.tokenizer_config();
  if (config.empty()) return std::nullopt;
  const std::optional<std::string> jinja =
      embedded_template(parse_json(read_text_file(config), config.string()), config.string());
  if (!jinja) return std::nullopt;
  return ChatTemplate::parse(*jinja, config.string() + ": chat_template");
}

std::unique_ptr<Runner> load_runner(const ModelFile& file, const ModelOptions& options) {
  const DeviceChoice device = find_device(options.device);
  RunnerOptions runner{.device_index = device.index,
                       .n_threads = options.n_threads,
                       .context_tokens_max = options.context_tokens,
                       .kernels = options.kernels,
                       .kv_type = parse_kv_type(options.kv_type).value(),
                       .lanes = options.lanes,
                       .injected_lane = options.injected_lane};
  if (runner.context_tokens_max == 0) {
    runner.context_tokens_max =
        std::min(kContextTokensDefault, read_config(file).context_tokens_max);
  }
  return device.backend.load(file, runner);
}

ModelSession load_session(const ModelOptions& options) {
  const Stopwatch watch;
  ProgressLine line;
  line.show("loading " + one_line(options.model));
  find_device(options.device);
  ModelFile file = ModelFile::open(options.model);
  Tokenizer tokenizer = load_tokenizer(file);
  std::optional<ChatTemplate> chat_template = load_chat_template(file);
  std::unique_ptr<Runner> runner = with_memory_for("running " + file.folder().string(),
                                                   [&] { return load_runner(file, options); });
  const int32_t vocab_size = runner->info().vocab_size;
  if (tokenizer.vocab_size() > vocab_size) {
    throw Error(ErrorCode::kCorruptFile,
                file.tokenizer_json().string() + ": " + std::to_string(tokenizer.vocab_size()) +
                    " tokens, but the model has " + std::to_string(vocab_size));
  }
  std::vector<TokenId> stop_ids = load_stop_ids(file, vocab_size);
  return {std::move(file),     std::move(tokenizer), std::move(chat_template),
          std::move(stop_ids), std::move(runner),    watch.ms()};
}

ChatPrompt encode_conversation(const ModelSession& session, std::span<const ChatMessage> messages) {
  if (!session.chat_template) {
    throw Error(ErrorCode::kInvalidArgument,
                session.file.folder().string() +
                    ": found no chat template, neither chat_template.jinja nor one in "
                    "tokenizer_config.json; generate without --chat takes plain text");
  }
  Conversation conversation = to_conversation(messages, true);
  conversation.variables = load_template_variables(session.file);
  conversation.now = wall_clock();
  const Prompt prompt = session.chat_template->render(conversation);
  return {.tokens = session.tokenizer.encode(prompt.text, prompt.untrusted),
          .begins_in_reasoning = prompt.text.ends_with("<think>\n")};
}

std::vector<TokenId> read_prompt(const ModelSession& session, const PromptOptions& options) {
  const ChatMessage message{.role = "user", .content = read_prompt_text(options)};
  std::vector<TokenId> tokens =
      options.is_chat
          ? encode_conversation(session, {&message, 1}).tokens
          : session.tokenizer.encode(message.content, AddedTokens::kMatch, Frame::kFromFile);
  if (tokens.empty())
    throw Error(ErrorCode::kInvalidArgument, "the prompt has no tokens, wanted at least one");
  return tokens;
}

int32_t resolve_max_tokens(const RunnerInfo& info, size_t prompt_tokens, int32_t asked) {
  const auto n_prompt = std::to_string(prompt_tokens);
  const auto n_context = std::to_string(info.context_tokens_max);
  const int64_t room = info.context_tokens_max - static_cast<int64_t>(prompt_tokens);
  if (room < 1) {
    throw Error(ErrorCode::kInvalidArgument, "--context: found " + n_context +
                                                 ", wanted more than the " + n_prompt +
                                                 " tokens of the prompt");
  }
  if (asked > room) {
    throw Error(ErrorCode::kInvalidArgument, "--max-tokens: found " + std::to_string(asked) +
                                                 ", wanted at most " + std::to_string(room) +
                                                 ": the prompt has " + n_prompt +
                                                 " tokens and --context is " + n_context);
  }
  return asked > 0 ? asked : static_cast<int32_t>(std::min<int64_t>(room, kMaxTokensDefault));
}

}  // namespace slip
