// What a model writes, told apart as it arrives: reasoning, content, tool calls. The last stage in
// front of the wire formats; knows neither tokens nor HTTP.
//
// Nothing is made up and nothing is lost. Every byte of the output is either given out unchanged as
// text, or is part of a call, or belongs to a frame:
//
//   space `<think>` LF?       at the very begin; space is at most kTagGapBytesMax white-space bytes
//   LF? `</think>` LF? LF?    the first one behind an open `<think>`
//   LF? LF?                   in front of a call
//
// where LF? is a line feed that is dropped if it is there, as templates write it; further ones
// stay. What looks like a frame elsewhere is text: a second `<think>`, a `</think>` in content,
// anything at all inside the reasoning, which is never searched for calls.
//
// A call (xml_call_reader.h, json_call_reader.h) is given out when its last tag is there: until
// then it may still turn out to be text, and an event cannot be taken back. A call that is broken
// comes out as content, unchanged, up to the first thing that is wrong, and reading goes on from
// there. So does one that is longer than kToolCallBytesMax, and at the end of the output one that
// is unfinished.
//
// How the output is cut into pieces changes only how text is cut into events. Text is held back
// while it may still become a frame or a call: at most kTagGapBytesMax + 6 bytes outside of calls.
// A character is cut only where a piece was.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "text/tool_call_reader.h"

namespace slip {

struct OutputParserOptions {
  // The prompt ended with `<think>` and a line feed: the output begins inside the reasoning.
  bool starts_in_reasoning = false;
  // Off: `<tool_call>` is content like any other, as a request wants that has no tools.
  bool reads_tool_calls = true;
  // The request's "tools" array, for the types of arguments; may be empty. A call of a function
  // that is not in it is a call all the same: what to do about it is the caller's decision.
  nlohmann::ordered_json tools = nlohmann::ordered_json::array();
};

struct OutputEvent {
  enum class Kind { kReasoning, kContent, kToolCall };

  Kind kind;
  std::string text;  // of reasoning or content, to be appended to what came before; else empty
  ToolCall call;     // of kToolCall, whole: a call is one event
  int call_index;    // of kToolCall: 0, 1, ...; else -1
  // The bytes of the output that this event stands for. Events are in order and do not overlap;
  // what is between them is frames. The output's bytes of a text event are its text.
  size_t begin;
  size_t end;
};

class OutputParser {
 public:
  explicit OutputParser(OutputParserOptions options);

  // Appends what is certain after `bytes`, which may be cut anywhere, to `events`. Neighbouring
  // text of one kind becomes one event.
  void feed(std::string_view bytes, std::vector<OutputEvent>& events);

  // Appends what was held back, as text. To be called once, at the end of the output. Without a
  // `</think>` everything behind `<think>` has been reasoning.
  void finish(std::vector<OutputEvent>& events);

  int n_calls() const { return n_calls_; }

 private:
  enum class Place { kBegin, kReasoning, kContent, kToolCall };

  bool step(std::vector<OutputEvent>& events);
  bool read_begin();
  bool read_reasoning(std::vector<OutputEvent>& events);
  bool read_content(std::vector<OutputEvent>& events);
  bool read_tool_call(std::vector<OutputEvent>& events);

  std::string_view rest() const { return std::string_view(held_).substr(at_); }
  void give_text(size_t n_bytes, std::vector<OutputEvent>& events);

  OutputParserOptions options_;
  Place place_;
  std::string held_;        // the end of the output so far
  size_t at_ = 0;           // bytes of held_ that are dealt with
  size_t held_begin_ = 0;   // place of held_ in the output
  int n_line_feeds_ = 0;    // that the frame may still take, next in rest()
  ToolCallReader reader_;   // in kToolCall
  size_t call_offset_ = 0;  // in kToolCall: line feeds in rest() in front of the call
  int n_calls_ = 0;
};

}  // namespace slip
