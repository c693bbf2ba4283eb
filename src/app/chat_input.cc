#include "app/chat_input.h"

#include <algorithm>
#include <utility>

#include "text/unicode.h"

namespace slip {

namespace {

constexpr std::string_view kBlockBorder = "\"\"\"";
constexpr std::string_view kSpace = " \t\r\n";

std::string_view trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin);
}

std::string repaired(std::string_view bytes) {
  std::string text;
  Utf8Repair repair;
  repair.push(bytes, text);
  repair.finish(text);
  return text;
}

}  // namespace

std::optional<ChatInput> ChatInputReader::push(std::string_view line) {
  const bool is_border = trim(line) == kBlockBorder;
  if (place_ == Place::kBlock) {
    if (is_border) return take();
    append_line(line);
    return std::nullopt;
  }
  if (place_ == Place::kBegin) {
    if (is_border) {
      place_ = Place::kBlock;
      return std::nullopt;
    }
    if (line.starts_with('/'))
      return ChatInput{ChatInput::Kind::kCommand, repaired(line.substr(1))};
  }
  const bool goes_on = line.ends_with('\\');
  append_line(goes_on ? line.substr(0, line.size() - 1) : line);
  if (!goes_on) return take();
  place_ = Place::kContinued;
  return std::nullopt;
}

std::optional<ChatInput> ChatInputReader::finish() { return take(); }

void ChatInputReader::append_line(std::string_view line) {
  text_ += line;
  text_ += '\n';
}

std::optional<ChatInput> ChatInputReader::take() {
  place_ = Place::kBegin;
  std::string text = std::exchange(text_, {});
  if (trim(text).empty()) return std::nullopt;
  text.pop_back();  // the end of its last line
  return ChatInput{ChatInput::Kind::kMessage, repaired(text)};
}

ChatCommand parse_command(std::string_view text) {
  const std::string_view command = trim(text);
  const size_t end = std::min(command.find_first_of(kSpace), command.size());
  return {std::string(command.substr(0, end)), std::string(trim(command.substr(end)))};
}

}  // namespace slip
