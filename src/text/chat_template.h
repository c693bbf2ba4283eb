// A conversation as the prompt text a checkpoint was trained on, through the checkpoint's own Jinja
// template.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace slip {

struct ChatMessage {
  std::string role;     // "system", "user", "assistant"
  std::string content;  // UTF-8
};

// Immutable once parsed; render() may be called from several threads.
class ChatTemplate {
 public:
  // Reads a chat_template.jinja, whitespace as Hugging Face renders it (trim_blocks,
  // lstrip_blocks). `origin` names it in messages. Throws Error{kCorruptFile} with the line for a
  // template that is no Jinja, and Error{kUnsupportedModel} with line and name for a statement,
  // filter, test, method or operator that is not known. Limits: text/jinja_limits.h.
  static ChatTemplate parse(std::string_view jinja, const std::string& origin);

  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;
  ~ChatTemplate();

  // The prompt. The template sees `messages` (role and content each), `add_generation_prompt`, and
  // `tools` and `documents` as none. Throws Error{kInvalidArgument} when the template refuses the
  // conversation (raise_exception), computes something undefined, or hits a limit.
  std::string render(std::span<const ChatMessage> messages, bool add_generation_prompt) const;

 private:
  struct Program;
  explicit ChatTemplate(std::unique_ptr<const Program> program);

  std::unique_ptr<const Program> program_;
};

}  // namespace slip
