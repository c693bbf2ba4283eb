// What tests and the fuzz program of the output parser share: running it over pieces, and an
// account of every byte that is drawn up without it.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/json_scanner.h"
#include "text/output_parser.h"

namespace slip::test {

using Kind = OutputEvent::Kind;

// All events of an output that arrives in `pieces`, neighbouring text joined.
inline std::vector<OutputEvent> parse_pieces(const OutputParserOptions& options,
                                             const std::vector<std::string_view>& pieces) {
  OutputParser parser(options);
  std::vector<OutputEvent> joined;
  std::vector<OutputEvent> events;
  for (size_t i = 0; i <= pieces.size(); ++i) {
    events.clear();
    if (i < pieces.size()) {
      parser.feed(pieces[i], events);
    } else {
      parser.finish(events);
    }
    for (OutputEvent& event : events) {
      const bool goes_on = !joined.empty() && event.kind != Kind::kToolCall &&
                           event.kind == joined.back().kind && event.begin == joined.back().end;
      if (goes_on) {
        joined.back().text += event.text;
        joined.back().end = event.end;
      } else {
        joined.push_back(std::move(event));
      }
    }
  }
  return joined;
}

inline std::vector<std::string_view> bytes_of(std::string_view text) {
  std::vector<std::string_view> bytes;
  for (size_t i = 0; i < text.size(); ++i) bytes.push_back(text.substr(i, 1));
  return bytes;
}

// One line of an event list: R[reasoning] C[content] 0:name{"argument": "json"}
inline std::string describe(const std::vector<OutputEvent>& events) {
  std::string text;
  for (const OutputEvent& event : events) {
    if (!text.empty()) text += ' ';
    if (event.kind == Kind::kToolCall) {
      text += std::to_string(event.call_index) + ":" + event.call.name + event.call.arguments;
    } else {
      text += (event.kind == Kind::kReasoning ? "R[" : "C[") + event.text + "]";
    }
  }
  return text;
}

// Checks that events tell all of an output and nothing else.
class OutputAccount {
 public:
  OutputAccount(std::string_view output, bool starts_in_reasoning)
      : output_(output), may_open_(!starts_in_reasoning), in_reasoning_(starts_in_reasoning) {}

  // What is wrong with `events`; empty if nothing is.
  std::string check(const std::vector<OutputEvent>& events) {
    int n_calls = 0;
    for (const OutputEvent& event : events) {
      if (event.begin < at_ || event.end <= event.begin || event.end > output_.size())
        return "event out of place";
      const std::string_view source = output_.substr(event.begin, event.end - event.begin);
      const bool is_call = event.kind == Kind::kToolCall;
      if (!take_frame(event.begin, is_call)) return "lost in front of: " + std::string(source);
      if ((event.kind == Kind::kReasoning) != in_reasoning_) return "on the wrong side of </think>";
      if (!is_call && event.text != source) return "not the text: " + event.text;
      if (is_call && event.call_index != n_calls++) return "calls are not counted";
      if (is_call && !is_call_of(event.call, source)) return "not the call: " + std::string(source);
      at_ = event.end;
    }
    return take_frame(output_.size(), false) ? "" : "lost at the end";
  }

 private:
  bool take(std::string_view& gap, std::string_view wanted) {
    if (!gap.starts_with(wanted)) return false;
    gap.remove_prefix(wanted.size());
    return true;
  }

  // Whether the bytes from at_ to `end` are what the parser may drop there.
  bool take_frame(size_t end, bool before_call) {
    std::string_view gap = output_.substr(at_, end - at_);
    if (may_open_) {
      const std::string_view all = gap;
      gap.remove_prefix(std::min(gap.find_first_not_of(" \t\r\n"), gap.size()));
      in_reasoning_ = take(gap, "<think>");
      if (in_reasoning_) {
        take(gap, "\n");
      } else {
        gap = all;
      }
    }
    may_open_ = false;
    if (in_reasoning_ && (take(gap, "</think>") || take(gap, "\n</think>"))) {
      in_reasoning_ = false;
      for (int i = 0; i < 2; ++i) take(gap, "\n");
    }
    for (int i = 0; before_call && i < 2; ++i) take(gap, "\n");
    return gap.empty();
  }

  static bool is_call_of(const ToolCall& call, std::string_view source) {
    return source.starts_with("<tool_call>") && source.ends_with("</tool_call>") &&
           !call.name.empty() && json_kind(call.arguments) == JsonKind::kObject;
  }

  std::string_view output_;
  size_t at_ = 0;
  bool may_open_;
  bool in_reasoning_;
};

}  // namespace slip::test
