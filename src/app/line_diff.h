// How two texts differ, line by line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace slip {

struct LineDiff {
  int32_t n_wanted = 0;              // lines of the wanted text
  int32_t n_equal = 0;               // lines in the longest common subsequence of both
  std::vector<std::string> missing;  // wanted lines that are not in it, in order
  std::vector<std::string> extra;    // found lines that are not in it, in order

  bool is_equal() const { return missing.empty() && extra.empty(); }
};

// White space at the end of both texts is ignored. Time and memory are the product of the line
// counts, which kDiffLinesMax bounds: longer texts are cut there.
LineDiff diff_lines(std::string_view wanted, std::string_view found);

inline constexpr size_t kDiffLinesMax = 4000;

}  // namespace slip
