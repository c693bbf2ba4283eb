// The tool calls that Qwen 3.5 and later write: tags around raw values.
//
//   <tool_call> gap <function=NAME> ( gap <parameter=NAME> VALUE </parameter> )* gap </function>
//   gap </tool_call>
//
// A gap is white space, at most kTagGapBytesMax bytes. VALUE is any text. One line feed at its
// begin and one at its end belong to the tags.
//
// Where a value ends. Values are raw, so they may hold any of these tags: a model writes source
// code that mentions them. A closing tag counts only where the grammar goes on behind it:
//
//   1. `</parameter>` ends a value if behind it, after a gap, stands `<parameter=NAME>` with a name
//      that the call does not have yet, or `</function>` gap `</tool_call>`.
//   2. `<tool_call>` gap `<function=NAME>` inside a value begins a call that the value quotes. Up
//   to
//      the `</function>` gap `</tool_call>` that belongs to it, rule 1 is off.
//   3. Everything else is part of the value.
//
// Rule 2 also keeps a call whose `</parameter>` is missing from swallowing the next one as its
// argument: the two never become a call, and are given out as text.
// To decide, the reader looks at most one tag, one gap and one name ahead.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <nlohmann/json.hpp>

#include "text/tag_reading.h"
#include "text/tool_call.h"

namespace slip {

class XmlCallReader {
 public:
  //   begin  behind the `<tool_call>`, in the texts that advance() gets
  explicit XmlCallReader(size_t begin) : at_(begin) {}

  // Reads on in `text`: what it was at the last call and more. Each byte is looked at a bounded
  // number of times over all calls. After another answer than kNeedsMore not to be called again.
  CallStatus advance(std::string_view text);
  size_t position() const { return at_; }

  // The call, after kComplete. Values become JSON as argument_json() says; a function that `tools`
  // does not have is a call like any other.
  ToolCall call(std::string_view text, const nlohmann::ordered_json& tools) const;

 private:
  enum class Place { kHeader, kBody, kValue, kQuotedCall, kEnd };
  using Rule = TagMatch (XmlCallReader::*)(std::string_view text);

  struct Parameter {
    std::string name;
    size_t begin;  // of the value, its line feeds included
    size_t end;
  };

  static std::span<const Rule> rules_at(Place place);
  TagMatch read_function(std::string_view text);
  TagMatch read_first_parameter(std::string_view text);
  TagMatch read_end_without_parameters(std::string_view text);
  TagMatch read_next_parameter(std::string_view text);
  TagMatch read_end(std::string_view text);
  TagMatch read_quoted_begin(std::string_view text);
  TagMatch read_quoted_end(std::string_view text);
  void open_parameter(std::string name, size_t begin);

  Place place_ = Place::kHeader;
  size_t at_;  // everything before is decided
  std::string function_;
  std::vector<Parameter> parameters_;
  std::unordered_set<std::string> names_;  // of parameters_
  int n_quoted_ = 0;                       // calls that are open in the value
};

}  // namespace slip
