#include "text/output_parser.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "text/tag_reading.h"

namespace slip {
namespace {

constexpr std::string_view kThinkBegin = "<think>";
constexpr std::string_view kThinkEnd = "</think>";
constexpr int kLineFeedsAfterThinkBegin = 1;
constexpr int kLineFeedsBeforeThinkEnd = 1;
constexpr int kLineFeedsAfterThinkEnd = 2;
constexpr int kLineFeedsBeforeCall = 2;

// Where the line feeds begin that end at `end`, of which a frame takes at most `n_max`.
size_t frame_begin(std::string_view text, size_t end, int n_max) {
  while (n_max-- > 0 && end > 0 && text[end - 1] == '\n') --end;
  return end;
}

// How much of `text`, which does not contain `tag`, cannot become part of it and its line feeds.
size_t certain_bytes(std::string_view text, std::string_view tag, int n_line_feeds) {
  const size_t bracket = text.rfind('<');
  const bool may_be_tag =
      bracket != std::string_view::npos && tag.starts_with(text.substr(bracket));
  return frame_begin(text, may_be_tag ? bracket : text.size(), n_line_feeds);
}

}  // namespace

OutputParser::OutputParser(OutputParserOptions options)
    : options_(std::move(options)),
      place_(options_.starts_in_reasoning ? Place::kReasoning : Place::kBegin) {}

void OutputParser::feed(std::string_view bytes, std::vector<OutputEvent>& events) {
  held_ += bytes;
  while (step(events)) {
  }
  held_begin_ += at_;
  held_.erase(0, at_);
  at_ = 0;
}

void OutputParser::finish(std::vector<OutputEvent>& events) {
  if (place_ != Place::kReasoning) place_ = Place::kContent;
  give_text(rest().size(), events);
}

// Deals with the next part of rest(); false if it takes more bytes to tell what that is.
bool OutputParser::step(std::vector<OutputEvent>& events) {
  if (rest().empty()) return false;
  if (n_line_feeds_ > 0) {
    --n_line_feeds_;
    if (rest().front() == '\n') ++at_;
    return true;
  }
  switch (place_) {
    case Place::kBegin:
      return read_begin();
    case Place::kReasoning:
      return read_reasoning(events);
    case Place::kContent:
      return read_content(events);
    case Place::kToolCall:
      return read_tool_call(events);
  }
  return false;
}

bool OutputParser::read_begin() {
  TagReading reading(rest(), 0);
  reading.gap().literal(kThinkBegin);
  if (reading.match() == TagMatch::kMaybe) return false;
  place_ = Place::kContent;
  if (reading.match() == TagMatch::kYes) {
    at_ += reading.at();
    place_ = Place::kReasoning;
    n_line_feeds_ = kLineFeedsAfterThinkBegin;
  }
  return true;
}

bool OutputParser::read_reasoning(std::vector<OutputEvent>& events) {
  const size_t tag = rest().find(kThinkEnd);
  if (tag == std::string_view::npos) {
    give_text(certain_bytes(rest(), kThinkEnd, kLineFeedsBeforeThinkEnd), events);
    return false;
  }
  const size_t end = frame_begin(rest(), tag, kLineFeedsBeforeThinkEnd);
  give_text(end, events);
  at_ += tag - end + kThinkEnd.size();
  place_ = Place::kContent;
  n_line_feeds_ = kLineFeedsAfterThinkEnd;
  return true;
}

bool OutputParser::read_content(std::vector<OutputEvent>& events) {
  if (!options_.reads_tool_calls) {
    give_text(rest().size(), events);
    return false;
  }
  const size_t tag = rest().find(kToolCallBegin);
  if (tag == std::string_view::npos) {
    give_text(certain_bytes(rest(), kToolCallBegin, kLineFeedsBeforeCall), events);
    return false;
  }
  const size_t end = frame_begin(rest(), tag, kLineFeedsBeforeCall);
  give_text(end, events);
  call_offset_ = tag - end;
  reader_ = ToolCallReader();
  place_ = Place::kToolCall;
  return true;
}

bool OutputParser::read_tool_call(std::vector<OutputEvent>& events) {
  const std::string_view text = rest().substr(call_offset_, kToolCallBytesMax);
  const CallStatus status = reader_.advance(text);
  if (status == CallStatus::kNeedsMore && text.size() < kToolCallBytesMax) return false;

  place_ = Place::kContent;
  std::optional<ToolCall> call;
  if (status == CallStatus::kComplete) call = reader_.call(text, options_.tools);
  if (!call) {
    const bool is_too_long = status == CallStatus::kNeedsMore;
    give_text(call_offset_ + (is_too_long ? text.size() : reader_.position()), events);
    return true;
  }
  at_ += call_offset_;
  const size_t begin = held_begin_ + at_;
  at_ += reader_.position();
  events.push_back({.kind = OutputEvent::Kind::kToolCall,
                    .text = {},
                    .call = std::move(*call),
                    .call_index = n_calls_++,
                    .begin = begin,
                    .end = held_begin_ + at_});
  return true;
}

void OutputParser::give_text(size_t n_bytes, std::vector<OutputEvent>& events) {
  if (n_bytes == 0) return;
  const auto kind =
      place_ == Place::kReasoning ? OutputEvent::Kind::kReasoning : OutputEvent::Kind::kContent;
  const size_t begin = held_begin_ + at_;
  const std::string_view text = rest().substr(0, n_bytes);
  if (events.empty() || events.back().kind != kind) {
    events.push_back(
        {.kind = kind, .text = {}, .call = {}, .call_index = -1, .begin = begin, .end = begin});
  }
  events.back().text += text;
  events.back().end += n_bytes;
  at_ += n_bytes;
}

}  // namespace slip
