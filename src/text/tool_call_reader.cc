#include "text/tool_call_reader.h"

#include "text/tag_reading.h"
#include "text/unicode.h"

namespace slip {

CallStatus ToolCallReader::advance(std::string_view text) {
  if (std::holds_alternative<std::monostate>(reader_)) {
    TagReading reading(text, kToolCallBegin.size());
    const TagMatch match = reading.gap().match();
    if (match == TagMatch::kMaybe) return CallStatus::kNeedsMore;
    if (match == TagMatch::kNo) return CallStatus::kBroken;
    if (text[reading.at()] == '{') {
      reader_.emplace<JsonCallReader>(reading.at());
    } else {
      reader_.emplace<XmlCallReader>(kToolCallBegin.size());
    }
  }
  if (auto* json = std::get_if<JsonCallReader>(&reader_)) return json->advance(text);
  return std::get<XmlCallReader>(reader_).advance(text);
}

size_t ToolCallReader::position() const {
  if (const auto* json = std::get_if<JsonCallReader>(&reader_)) return json->position();
  if (const auto* xml = std::get_if<XmlCallReader>(&reader_)) return xml->position();
  return kToolCallBegin.size();
}

std::optional<ToolCall> ToolCallReader::call(std::string_view text,
                                             const nlohmann::ordered_json& tools) const {
  const std::string_view written = text.substr(0, position());
  if (repair_utf8(written) != written) return std::nullopt;
  if (const auto* json = std::get_if<JsonCallReader>(&reader_)) return json->call(written);
  return std::get<XmlCallReader>(reader_).call(written, tools);
}

}  // namespace slip
