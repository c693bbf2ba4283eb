// Log-probabilities for clients: of the model's own distribution, before any bias, penalty or
// temperature.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"

namespace slip {

inline constexpr int32_t kLogprobsMax = 20;

struct TokenLogprob {
  TokenId id{};
  double logprob = 0;  // natural logarithm, at most 0
};

struct TokenLogprobs {
  TokenLogprob token;             // the one that was chosen
  std::vector<TokenLogprob> top;  // the likeliest ones, equal ones by id
};

// Of a row that is usable: no NaN, no +inf, not all -inf.
//   logits  [vocab_size]
//   n_top   [0, kLogprobsMax]; fewer where the vocabulary is smaller
TokenLogprobs logprobs_of(std::span<const float> logits, TokenId token, int32_t n_top);

}  // namespace slip
