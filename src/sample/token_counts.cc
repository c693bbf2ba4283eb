#include "sample/token_counts.h"

namespace slip {

TokenCounts::TokenCounts(int32_t vocab_size)
    : in_answer_(static_cast<size_t>(vocab_size)), is_seen_(static_cast<size_t>(vocab_size)) {
  seen_.reserve(static_cast<size_t>(vocab_size));
}

void TokenCounts::see(TokenId token) {
  if (is_seen_[index(token)]) return;
  is_seen_[index(token)] = true;
  seen_.push_back(token);
}

void TokenCounts::add_prompt(std::span<const TokenId> tokens) {
  for (const TokenId token : tokens) see(token);
}

void TokenCounts::add_answer(TokenId token) {
  see(token);
  ++in_answer_[index(token)];
}

}  // namespace slip
