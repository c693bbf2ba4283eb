// What survives of a draft. One rule, one place; device versions are compared with it.
#pragma once

#include <optional>
#include <span>

#include "base/ids.h"

namespace slip {

struct Verdict {
  int n_accepted = 0;  // leading draft tokens that survive
  TokenId next{};      // the correction after a rejection, the bonus token after a full acceptance
  bool is_finite =
      true;  // false: a row that decides had no usable maximum; `next` means nothing then
};

// The id of the largest logit; the lowest id wins a tie. Nothing if any logit is NaN or +inf, or
// all are -inf.
//   logits  [vocab_size], vocab_size >= 1
std::optional<TokenId> argmax(std::span<const float> logits);

// Greedy acceptance: keep drafts while each equals the target's choice before it.
//   draft   [n_draft]      proposed tokens
//   target  [n_draft + 1]  choices of the target: target[i] follows the pending token and
//   draft[0..i);
//                          nothing where the row had no usable maximum
// Only target[0..n_accepted] decide; later rows are never looked at.
Verdict accept_greedy(std::span<const TokenId> draft,
                      std::span<const std::optional<TokenId>> target);

}  // namespace slip
