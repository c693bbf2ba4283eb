// A conversation as the prompt text a checkpoint was trained on, through the checkpoint's own Jinja
// template.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "text/byte_range.h"

namespace slip {

struct ChatMessage {
  std::string role;     // "system", "user", "assistant"
  std::string content;  // UTF-8
};

// What a template sees. Strings that are no UTF-8 are repaired; the order of keys is kept.
struct Conversation {
  // An array of messages as clients send them: role, content, tool_calls, reasoning_content and
  // whatever else the template reads. Tool-call arguments that came as a JSON string must be parsed
  // into an object before: templates write each argument apart.
  nlohmann::ordered_json messages = nlohmann::ordered_json::array();
  nlohmann::ordered_json tools;      // an array of JSON schemas; null: none
  nlohmann::ordered_json documents;  // null: none
  bool add_generation_prompt = true;
  // An object: bos_token, enable_thinking, reasoning_effort, date_string ... Its strings count as
  // trusted, so nothing of a client's own words belongs here.
  nlohmann::ordered_json variables = nlohmann::ordered_json::object();
  // What strftime_now shows: the time on the wall clock, without its zone.
  std::chrono::local_seconds now{};
};

// The text-only form.
Conversation to_conversation(std::span<const ChatMessage> messages, bool add_generation_prompt);

// The variables that Hugging Face takes from a tokenizer_config.json: bos_token, eos_token and
// their like, as strings. Empty for a file that names none.
nlohmann::ordered_json special_token_variables(const nlohmann::json& tokenizer_config);

struct Prompt {
  std::string text;  // UTF-8
  // The bytes that strings of messages, tools or documents brought, kept whole, cut, or changed by
  // filters: ascending, none empty, none touching the next. A literal "<|im_end|>" that touches one
  // of them is not the template's, and must not become a control token. Digits of numbers, and
  // roles that every template knows ("user"), count as the template's.
  std::vector<ByteRange> untrusted;
};

// Immutable once parsed; render() may be called from several threads.
class ChatTemplate {
 public:
  // Reads a chat_template.jinja as Hugging Face does (trim_blocks, lstrip_blocks, loop controls,
  // the generation tag). `origin` names it in messages. Throws Error{kCorruptFile} with the line
  // for a template that is no Jinja, and Error{kUnsupportedModel} with line and name for a
  // statement, filter, test, method or argument that is not known. Limits: text/jinja_limits.h.
  static ChatTemplate parse(std::string_view jinja, const std::string& origin);

  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;
  ~ChatTemplate();

  // The prompt: a pure function of the template and `conversation`. Throws Error{kInvalidArgument}
  // when the template refuses the conversation (raise_exception), computes something undefined, or
  // hits a limit, and when a field is not what Conversation says; Error{kUnsupportedModel} when the
  // template turns out to do what is Jinja but not known here (an integer beyond 64 bits).
  Prompt render(const Conversation& conversation) const;

 private:
  struct Program;
  explicit ChatTemplate(std::unique_ptr<const Program> program);

  std::unique_ptr<const Program> program_;
};

}  // namespace slip
