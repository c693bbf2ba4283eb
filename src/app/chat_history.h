// A conversation as a file: {"messages": [{"role": ..., "content": ...}, ...]}.
#pragma once

#include <filesystem>
#include <vector>

#include "text/chat_template.h"

namespace slip {

// Throws Error{kNotFound}, or Error{kCorruptFile} naming the file and what is wrong: wanted is a
// system message or none, and then a user's and an assistant's message in turns.
std::vector<ChatMessage> load_history(const std::filesystem::path& path);

// The file appears whole or stays as it was. Throws as replace_text_file() does.
void save_history(const std::filesystem::path& path, const std::vector<ChatMessage>& messages);

}  // namespace slip
