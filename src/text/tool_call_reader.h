// Reads one tool call of either spelling: `{` behind `<tool_call>` begins a JSON object, everything
// else must be the tags of xml_call_reader.h.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <variant>

#include <nlohmann/json.hpp>

#include "text/json_call_reader.h"
#include "text/tool_call.h"
#include "text/xml_call_reader.h"

namespace slip {

class ToolCallReader {
 public:
  // Reads on in `text`, which begins with `<tool_call>`: what it was at the last call and more.
  // Each byte is looked at a bounded number of times over all calls. After another answer than
  // kNeedsMore not to be called again.
  CallStatus advance(std::string_view text);
  size_t position() const;

  // The call, after kComplete; empty if it is none after all: JSON without name or arguments, bytes
  // that are not UTF-8.
  std::optional<ToolCall> call(std::string_view text, const nlohmann::ordered_json& tools) const;

 private:
  // The first until the spelling is known.
  std::variant<std::monostate, XmlCallReader, JsonCallReader> reader_;
};

}  // namespace slip
