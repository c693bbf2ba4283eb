// The golden files of chat templates, as tests read them.
#pragma once

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "text/chat_template.h"

namespace slip::test {

// A file of tests/golden.
inline std::string golden_text(const std::string& name) {
  std::ifstream file(std::filesystem::path(SLIP_SOURCE_DIR) / "tests/golden" / name,
                     std::ios::binary);
  EXPECT_TRUE(file.is_open()) << name;
  return {std::istreambuf_iterator<char>(file), {}};
}

inline nlohmann::ordered_json golden_json(const std::string& name) {
  return nlohmann::ordered_json::parse(golden_text(name));
}

// A conversation as tools/template_golden_snippets.py spells it, at the time that
// tools/make_template_golden.py calls NOW.
inline Conversation conversation_of(const nlohmann::ordered_json& spelled) {
  using namespace std::chrono_literals;
  Conversation conversation;
  conversation.messages = spelled.at("messages");
  conversation.tools = spelled.value("tools", nlohmann::ordered_json());
  conversation.documents = spelled.value("documents", nlohmann::ordered_json());
  conversation.add_generation_prompt = spelled.value("add_generation_prompt", true);
  conversation.variables = spelled.value("variables", nlohmann::ordered_json::object());
  conversation.now = std::chrono::local_days(std::chrono::year(2026) / 7 / 5) + 9h + 3min + 7s;
  return conversation;
}

}  // namespace slip::test
