#include "sample/accept.h"

#include <cmath>

#include "base/check.h"

namespace slip {

std::optional<TokenId> argmax(std::span<const float> logits) {
  SLIP_CHECK(!logits.empty());
  size_t best = 0;
  bool is_usable = true;
  for (size_t i = 0; i < logits.size(); ++i) {
    // NaN fails every comparison, so it has to be asked for; +inf would win without meaning
    // anything.
    is_usable &= logits[i] < INFINITY;
    if (logits[i] > logits[best]) best = i;
  }
  if (!is_usable || !std::isfinite(logits[best])) return std::nullopt;
  return TokenId{static_cast<int32_t>(best)};
}

Verdict accept_greedy(std::span<const TokenId> draft,
                      std::span<const std::optional<TokenId>> target) {
  SLIP_CHECK(target.size() == draft.size() + 1);
  size_t n = 0;
  while (n < draft.size() && target[n] == draft[n]) ++n;
  if (!target[n]) return {.n_accepted = static_cast<int>(n), .next = {}, .is_finite = false};
  return {.n_accepted = static_cast<int>(n), .next = *target[n]};
}

}  // namespace slip
