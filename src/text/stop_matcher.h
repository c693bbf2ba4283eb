// Stop strings in text that arrives in pieces: gives out what can no longer belong to one, and
// nothing of the one that ends the answer. Works on bytes; knows no tokens and no tags.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace slip {

inline constexpr size_t kStopStringsMax = 64;
inline constexpr size_t kStopStringBytesMax = 1024;

// Where a stop string was found, in bytes from the begin of the stream.
struct StopMatch {
  size_t index;  // which of the stop strings
  size_t begin;  // the answer ends here
  size_t end;
};

class StopMatcher {
 public:
  // Throws Error{kInvalidArgument} if there are more than kStopStringsMax stop strings, or if one
  // is empty or longer than kStopStringBytesMax. None at all is fine: everything passes.
  explicit StopMatcher(std::vector<std::string> stop_strings);

  // Appends to `out` what is certain after `bytes`, which may be cut anywhere. The stop string
  // whose last byte comes first ends the stream, and of several with the same last byte the
  // longest; the rest of `bytes` and all later pushes are dropped. Returns whether it has ended.
  // How the stream is cut changes nothing but when its parts are given out.
  bool push(std::string_view bytes, std::string& out);

  // Appends what was held back, at most the longest stop string less one byte. To be called once,
  // at the end of the stream.
  void finish(std::string& out);

  // What ended the stream; empty as long as nothing did.
  const std::optional<StopMatch>& match() const { return match_; }

 private:
  // Knuth, Morris and Pratt 1977: the longest begin of `text` that the stream ends with.
  struct Automaton {
    std::string text;
    std::vector<size_t>
        fallback;  // [bytes of text], length to go on with when the next byte differs
    size_t n_matched = 0;

    void advance(char byte);
    bool is_complete() const { return n_matched == text.size(); }
  };

  void advance(char byte);

  std::vector<Automaton> automata_;
  std::string held_;
  size_t n_bytes_ = 0;  // of the stream
  std::optional<StopMatch> match_;
};

}  // namespace slip
