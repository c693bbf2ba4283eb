// The tool calls that older families write: one JSON object between the tags.
//
//   <tool_call> {"name": "NAME", "arguments": {...}} </tool_call>
//
// The arguments are an object, or a string that holds one. They are copied as they are written, so
// numbers keep their digits. `name` and `arguments` must be there, once each; other members are
// read over. What is not JSON is no call: no quote, bracket or argument is ever added.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "text/json_scanner.h"
#include "text/tool_call.h"

namespace slip {

class JsonCallReader {
 public:
  //   begin  of the object, in the texts that advance() gets
  explicit JsonCallReader(size_t begin) : begin_(begin), at_(begin) {}

  // As XmlCallReader::advance().
  CallStatus advance(std::string_view text);
  size_t position() const { return at_; }

  // The call, after kComplete; empty if the object is not one.
  std::optional<ToolCall> call(std::string_view text) const;

 private:
  JsonScanner scanner_;
  size_t begin_;
  size_t at_;  // everything before is decided
  size_t object_end_ = 0;
};

}  // namespace slip
