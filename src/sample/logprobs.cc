#include "sample/logprobs.h"

#include <algorithm>
#include <cmath>

namespace slip {

TokenLogprobs logprobs_of(std::span<const float> logits, TokenId token, int32_t n_top) {
  const double largest = std::ranges::max(logits);
  double total = 0;
  for (const float logit : logits) total += std::exp(logit - largest);
  const double log_total = largest + std::log(total);
  const auto logprob = [&](TokenId id) {
    return TokenLogprob{.id = id, .logprob = logits[index(id)] - log_total};
  };

  TokenLogprobs result{.token = logprob(token), .top = {}};
  // A short list in order beats sorting the vocabulary.
  std::vector<TokenId> best;
  const auto is_likelier = [&](TokenId a, TokenId b) {
    return logits[index(a)] > logits[index(b)];
  };
  for (size_t i = 0; i < logits.size(); ++i) {
    const TokenId id{static_cast<int32_t>(i)};
    const bool is_full = best.size() == static_cast<size_t>(n_top);
    if (n_top == 0 || (is_full && !is_likelier(id, best.back()))) continue;
    if (is_full) best.pop_back();
    best.insert(std::ranges::upper_bound(best, id, is_likelier), id);
  }
  for (const TokenId id : best) result.top.push_back(logprob(id));
  return result;
}

}  // namespace slip
