// How often each token occurred, kept as tokens come, so that a penalty costs what the text has of
// different tokens and not its length.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"

namespace slip {

class TokenCounts {
 public:
  // All memory there will ever be: 12 bytes a token of the vocabulary.
  explicit TokenCounts(int32_t vocab_size);

  void add_prompt(std::span<const TokenId> tokens);
  void add_answer(TokenId token);

  // Every token that occurred at all, once, in order of its first occurrence.
  std::span<const TokenId> seen() const { return seen_; }
  int32_t in_answer(TokenId token) const { return in_answer_[index(token)]; }

 private:
  void see(TokenId token);

  std::vector<int32_t> in_answer_;  // [vocab_size]
  std::vector<bool> is_seen_;       // [vocab_size]
  std::vector<TokenId> seen_;
};

}  // namespace slip
