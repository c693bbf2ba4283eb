// What SuffixIndex::find() means, by looking at every earlier place: for its tests.
#pragma once

#include <algorithm>
#include <optional>
#include <span>

#include "draft/suffix_index.h"

namespace slip::test {

inline std::optional<SuffixMatch> find_by_looking(std::span<const TokenId> tokens) {
  const auto n = static_cast<int32_t>(tokens.size());
  SuffixMatch best;
  int32_t n_candidates = 0;
  for (int32_t end = n - 1; end > 0 && n_candidates < SuffixIndex::kCandidatesMax; --end) {
    int32_t agree = 0;
    while (agree < std::min(end, SuffixIndex::kMatchTokensMax) &&
           tokens[static_cast<size_t>(end - 1 - agree)] ==
               tokens[static_cast<size_t>(n - 1 - agree)]) {
      ++agree;
    }
    if (agree < SuffixIndex::kMatchTokensMin) continue;
    ++n_candidates;
    if (agree > best.n_tokens) best = {.position = end, .n_tokens = agree};
  }
  return best.n_tokens > 0 ? std::optional(best) : std::nullopt;
}

}  // namespace slip::test
