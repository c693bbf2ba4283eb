#include "text/stop_matcher.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace slip {
namespace {

void check_stop_strings(const std::vector<std::string>& stop_strings) {
  if (stop_strings.size() > kStopStringsMax) {
    throw Error(ErrorCode::kInvalidArgument,
                "stop strings: found " + std::to_string(stop_strings.size()) + ", wanted at most " +
                    std::to_string(kStopStringsMax));
  }
  for (const std::string& text : stop_strings) {
    if (text.empty() || text.size() > kStopStringBytesMax) {
      throw Error(ErrorCode::kInvalidArgument, "stop string: found " + std::to_string(text.size()) +
                                                   " bytes, wanted 1 to " +
                                                   std::to_string(kStopStringBytesMax));
    }
  }
}

// [i]: the longest begin of `text` that is shorter than i + 1 bytes and that its first i + 1 bytes
// end with.
std::vector<size_t> fallbacks_of(std::string_view text) {
  std::vector<size_t> fallbacks(text.size(), 0);
  size_t n_matched = 0;
  for (size_t i = 1; i < text.size(); ++i) {
    while (n_matched > 0 && text[n_matched] != text[i]) n_matched = fallbacks[n_matched - 1];
    if (text[n_matched] == text[i]) ++n_matched;
    fallbacks[i] = n_matched;
  }
  return fallbacks;
}

}  // namespace

void StopMatcher::Automaton::advance(char byte) {
  while (n_matched > 0 && text[n_matched] != byte) n_matched = fallback[n_matched - 1];
  if (text[n_matched] == byte) ++n_matched;
}

StopMatcher::StopMatcher(std::vector<std::string> stop_strings) {
  check_stop_strings(stop_strings);
  for (std::string& text : stop_strings) {
    std::vector<size_t> fallback = fallbacks_of(text);
    automata_.push_back({std::move(text), std::move(fallback)});
  }
}

bool StopMatcher::push(std::string_view bytes, std::string& out) {
  for (const char byte : bytes) {
    if (match_) break;
    advance(byte);
  }
  size_t n_held = 0;  // at the end of held_: the stop string that was found, or the begin of one
  for (const Automaton& automaton : automata_) n_held = std::max(n_held, automaton.n_matched);
  if (match_) n_held = std::min(held_.size(), match_->end - match_->begin);
  out.append(held_, 0, held_.size() - n_held);
  held_.erase(0, match_ ? held_.size() : held_.size() - n_held);
  return match_.has_value();
}

void StopMatcher::advance(char byte) {
  held_.push_back(byte);
  ++n_bytes_;
  for (size_t i = 0; i < automata_.size(); ++i) {
    Automaton& automaton = automata_[i];
    automaton.advance(byte);
    const size_t begin = n_bytes_ - automaton.n_matched;
    if (automaton.is_complete() && (!match_ || begin < match_->begin))
      match_ = StopMatch{i, begin, n_bytes_};
  }
}

void StopMatcher::finish(std::string& out) {
  out += held_;
  held_.clear();
}

}  // namespace slip
