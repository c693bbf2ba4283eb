#include "app/chat_history.h"

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "io/json_file.h"
#include "io/output_file.h"

namespace slip {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const fs::path& path, const std::string& reason) {
  throw Error(ErrorCode::kCorruptFile, path.string() + ": " + reason);
}

// The string under `key` of messages[i].
std::string field(const nlohmann::json& message, const char* key, const fs::path& path, size_t i) {
  const std::string place = "messages[" + std::to_string(i) + "]";
  if (!message.is_object()) refuse(path, place + ": found no object, wanted role and content");
  const auto found = message.find(key);
  if (found == message.end() || !found->is_string())
    refuse(path, place + ": " + key + ": found no text, wanted one");
  return found->get<std::string>();
}

std::string_view expected_role(size_t i, bool has_system) {
  if (has_system && i == 0) return "system";
  return (i - (has_system ? 1 : 0)) % 2 == 0 ? "user" : "assistant";
}

}  // namespace

std::vector<ChatMessage> load_history(const fs::path& path) {
  const nlohmann::json file = parse_json(read_text_file(path), path.string());
  const auto list = file.is_object() ? file.find("messages") : file.end();
  if (list == file.end() || !list->is_array()) refuse(path, "found no list of \"messages\"");

  std::vector<ChatMessage> messages;
  for (const nlohmann::json& entry : *list) {
    const size_t i = messages.size();
    ChatMessage message{.role = field(entry, "role", path, i),
                        .content = field(entry, "content", path, i)};
    const bool has_system = i == 0 ? message.role == "system" : messages.front().role == "system";
    const std::string_view wanted = expected_role(i, has_system);
    if (message.role != wanted) {
      refuse(path, "messages[" + std::to_string(i) + "]: role: found " + quote(message.role) +
                       ", wanted \"" + std::string(wanted) + "\"");
    }
    messages.push_back(std::move(message));
  }
  if (!messages.empty() && messages.back().role == "user")
    refuse(path, "the last message is the user's, wanted an answer behind it");
  return messages;
}

void save_history(const fs::path& path, const std::vector<ChatMessage>& messages) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const ChatMessage& message : messages)
    list.push_back({{"role", message.role}, {"content", message.content}});
  const nlohmann::ordered_json file = {{"messages", std::move(list)}};

  replace_text_file(path, path.string(), to_text(file, 2) + '\n');
}

}  // namespace slip
