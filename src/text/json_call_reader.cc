#include "text/json_call_reader.h"

#include <string>
#include <utility>

#include "text/tag_reading.h"

namespace slip {
namespace {

// The text of the object that a call has as its arguments.
std::optional<std::string> object_text(std::string_view arguments) {
  if (arguments.starts_with('{')) return std::string(arguments);
  std::optional<std::string> text = json_string_value(arguments);
  if (!text || json_kind(*text) != JsonKind::kObject) return std::nullopt;
  return text;
}

}  // namespace

CallStatus JsonCallReader::advance(std::string_view text) {
  while (!scanner_.is_complete()) {
    if (at_ == text.size()) return CallStatus::kNeedsMore;
    if (!scanner_.push(text[at_])) return CallStatus::kBroken;
    ++at_;
    object_end_ = at_;
  }
  TagReading reading(text, object_end_);
  reading.gap().literal(kToolCallEnd);
  if (reading.match() == TagMatch::kMaybe) return CallStatus::kNeedsMore;
  if (reading.match() == TagMatch::kNo) return CallStatus::kBroken;
  at_ = reading.at();
  return CallStatus::kComplete;
}

std::optional<ToolCall> JsonCallReader::call(std::string_view text) const {
  std::optional<std::string> name;
  std::optional<std::string> arguments;
  int n_found = 0;
  for (const auto& [key, value] : json_members(text.substr(begin_, object_end_ - begin_))) {
    const std::optional<std::string> key_text = json_string_value(key);
    if (key_text == "name") {
      name = json_string_value(value);
      ++n_found;
    } else if (key_text == "arguments") {
      arguments = object_text(value);
      ++n_found;
    }
  }
  if (!name || !arguments || n_found != 2) return std::nullopt;
  if (name->empty() || name->size() > kToolNameBytesMax) return std::nullopt;
  return ToolCall{std::move(*name), std::move(*arguments)};
}

}  // namespace slip
