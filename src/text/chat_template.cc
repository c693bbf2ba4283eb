#include "text/chat_template.h"

#include <utility>

#include "text/jinja_evaluator.h"
#include "text/jinja_limits.h"
#include "text/jinja_parser.h"
#include "text/unicode.h"

namespace slip {

struct ChatTemplate::Program {
  jinja::Block block;
  std::string origin;
  jinja::Limits limits;
};

ChatTemplate::ChatTemplate(std::unique_ptr<const Program> program) : program_(std::move(program)) {}
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;
ChatTemplate::~ChatTemplate() = default;

ChatTemplate ChatTemplate::parse(std::string_view jinja, const std::string& origin) {
  const jinja::Limits limits;
  return ChatTemplate(std::unique_ptr<const Program>(
      new Program{jinja::parse(jinja, origin, limits), origin, limits}));
}

std::string ChatTemplate::render(std::span<const ChatMessage> messages,
                                 bool add_generation_prompt) const {
  jinja::Elements elements;
  for (const auto& [role, content] : messages) {
    elements.emplace_back(jinja::Entries{{"role", jinja::Value(repair_utf8(role))},
                                         {"content", jinja::Value(repair_utf8(content))}});
  }
  const jinja::Variables variables = {
      {"messages", jinja::Value(std::move(elements))},
      {"add_generation_prompt", jinja::Value(add_generation_prompt)},
      {"tools", jinja::None{}},
      {"documents", jinja::None{}},
  };
  return jinja::render(program_->block, variables, program_->origin, program_->limits);
}

}  // namespace slip
