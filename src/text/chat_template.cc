#include "text/chat_template.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "text/jinja_evaluator.h"
#include "text/jinja_json_value.h"
#include "text/jinja_limits.h"
#include "text/jinja_parser.h"

namespace slip {
namespace {

constexpr std::array<std::string_view, 7> kSpecialTokens = {
    "bos_token", "cls_token", "eos_token", "mask_token", "pad_token", "sep_token", "unk_token"};

jinja::Variables variables_of(const Conversation& conversation, const jinja::Limits& limits) {
  using jinja::Origin;
  jinja::Variables variables = {
      {"messages", jinja::to_messages(conversation.messages, "messages", limits)},
      {"tools", jinja::to_value(conversation.tools, Origin::kConversation, "tools", limits)},
      {"documents",
       jinja::to_value(conversation.documents, Origin::kConversation, "documents", limits)},
      {"add_generation_prompt", jinja::Value(conversation.add_generation_prompt)},
  };
  if (!conversation.variables.is_object()) {
    throw Error(ErrorCode::kInvalidArgument, "variables: found " +
                                                 std::string(conversation.variables.type_name()) +
                                                 ", wanted an object");
  }
  const size_t n_own = variables.size();
  for (const auto& [name, json] : conversation.variables.items()) {
    for (size_t i = 0; i < n_own; ++i) {
      if (variables[i].first != name) continue;
      throw Error(ErrorCode::kInvalidArgument,
                  "variables: found '" + name + "', which has a field of its own");
    }
    variables.emplace_back(name,
                           jinja::to_value(json, Origin::kTemplate, "variables." + name, limits));
  }
  return variables;
}

}  // namespace

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

Prompt ChatTemplate::render(const Conversation& conversation) const {
  const jinja::Variables variables = variables_of(conversation, program_->limits);
  const jinja::Text text = jinja::render(program_->block, variables, program_->origin,
                                         program_->limits, conversation.now);
  return {text.bytes(), text.untrusted()};
}

Conversation to_conversation(std::span<const ChatMessage> messages, bool add_generation_prompt) {
  Conversation conversation;
  for (const auto& [role, content] : messages) {
    conversation.messages.push_back({{"role", role}, {"content", content}});
  }
  conversation.add_generation_prompt = add_generation_prompt;
  return conversation;
}

nlohmann::ordered_json special_token_variables(const nlohmann::json& tokenizer_config) {
  nlohmann::ordered_json variables = nlohmann::ordered_json::object();
  if (!tokenizer_config.is_object()) return variables;
  for (const std::string_view name : kSpecialTokens) {
    const auto found = tokenizer_config.find(std::string(name));
    if (found == tokenizer_config.end()) continue;
    // Written plainly or as an added token with its flags.
    const nlohmann::json& token =
        found->is_object() && found->contains("content") ? (*found)["content"] : *found;
    if (token.is_string()) variables[std::string(name)] = token.get<std::string>();
  }
  return variables;
}

}  // namespace slip
