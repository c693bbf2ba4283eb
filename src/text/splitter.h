// Cuts text into the words that BPE sees, by the regular expressions of the checkpoint itself.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace slip {

// What one search may cost before it is given up: a pattern that backtracks without end is an
// Error.
struct SplitterLimits {
  size_t pattern_bytes_max = 1 << 16;
  uint32_t match_steps_max = 10'000'000;
  uint32_t match_heap_kib_max = 64 << 10;
  size_t match_stack_bytes_max = 1 << 20;
};

// Immutable; split() may be called from several threads.
class Splitter {
 public:
  // Compiles `pattern`. Throws Error{kUnsupportedModel} with `origin` and the reason if it is no
  // regular expression that PCRE2 knows.
  Splitter(const std::string& pattern, const std::string& origin,
           const SplitterLimits& limits = {});
  Splitter(Splitter&&) noexcept;
  Splitter& operator=(Splitter&&) noexcept;
  ~Splitter();

  // Appends the pieces of `text`, valid UTF-8, to `pieces`: every match and every stretch between
  // two matches, in order, none empty. They are views into `text`. Throws Error{kUnsupportedModel}
  // when a search hits a limit.
  void split(std::string_view text, std::vector<std::string_view>& pieces) const;

 private:
  struct Compiled;
  std::unique_ptr<const Compiled> compiled_;
};

}  // namespace slip
