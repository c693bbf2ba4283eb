#include "app/line_diff.h"

#include <algorithm>

namespace slip {

namespace {

std::vector<std::string_view> split_lines(std::string_view text) {
  const size_t end = text.find_last_not_of(" \t\r\n");
  text = text.substr(0, end == std::string_view::npos ? 0 : end + 1);
  std::vector<std::string_view> lines;
  while (!text.empty() && lines.size() < kDiffLinesMax) {
    const size_t length = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, length));
    text.remove_prefix(std::min(length + 1, text.size()));
  }
  return lines;
}

}  // namespace

LineDiff diff_lines(std::string_view wanted_text, std::string_view found_text) {
  const std::vector<std::string_view> wanted = split_lines(wanted_text);
  const std::vector<std::string_view> found = split_lines(found_text);
  // common[i][j]: longest common subsequence of wanted[i..) and found[j..).
  const size_t stride = found.size() + 1;
  std::vector<int32_t> common((wanted.size() + 1) * stride, 0);
  for (size_t i = wanted.size(); i-- > 0;) {
    for (size_t j = found.size(); j-- > 0;) {
      common[i * stride + j] = wanted[i] == found[j] ? common[(i + 1) * stride + j + 1] + 1
                                                     : std::max(common[(i + 1) * stride + j],
                                                                common[i * stride + j + 1]);
    }
  }
  LineDiff diff{.n_wanted = static_cast<int32_t>(wanted.size()), .n_equal = common[0]};
  size_t i = 0;
  size_t j = 0;
  while (i < wanted.size() || j < found.size()) {
    if (i < wanted.size() && j < found.size() && wanted[i] == found[j]) {
      ++i;
      ++j;
    } else if (j == found.size() ||
               (i < wanted.size() && common[(i + 1) * stride + j] >= common[i * stride + j + 1])) {
      diff.missing.emplace_back(wanted[i++]);
    } else {
      diff.extra.emplace_back(found[j++]);
    }
  }
  return diff;
}

}  // namespace slip
