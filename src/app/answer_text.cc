#include "app/answer_text.h"

namespace slip {

namespace {

constexpr std::string_view kDim = "\x1b[2m";
constexpr std::string_view kNormal = "\x1b[0m";

}  // namespace

AnswerText::AnswerText(bool begins_in_reasoning, bool dims_reasoning)
    : parser_({.starts_in_reasoning = begins_in_reasoning, .reads_tool_calls = false}),
      dims_reasoning_(dims_reasoning) {}

std::string AnswerText::push(std::string_view bytes) {
  std::vector<OutputEvent> events;
  parser_.feed(bytes, events);
  return show(events);
}

std::string AnswerText::finish() {
  std::vector<OutputEvent> events;
  parser_.finish(events);
  return show(events) + end_reasoning();
}

std::string AnswerText::show(const std::vector<OutputEvent>& events) {
  std::string shown;
  for (const OutputEvent& event : events) {
    if (event.kind == OutputEvent::Kind::kReasoning) {
      if (!is_reasoning_ && dims_reasoning_) shown += kDim;
      is_reasoning_ = true;
    } else {
      if (is_reasoning_) shown += end_reasoning() + "\n\n";
      content_ += event.text;
    }
    shown += event.text;
  }
  return shown;
}

std::string AnswerText::end_reasoning() {
  const bool was_dim = is_reasoning_ && dims_reasoning_;
  is_reasoning_ = false;
  return std::string(was_dim ? kNormal : "");
}

std::string dim(const std::string& text, bool is_terminal) {
  return is_terminal ? std::string(kDim) + text + std::string(kNormal) : text;
}

}  // namespace slip
