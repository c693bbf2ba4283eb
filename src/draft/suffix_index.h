// Finds where the last tokens of a sequence occurred before: hash chains over all runs of
// kMatchTokensMin tokens. The index holds positions only; the tokens stay with the caller, and
// every match is verified against them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"

namespace slip {

// tokens[position - n_tokens .. position) equal the last n_tokens of the sequence.
struct SuffixMatch {
  int32_t position = 0;  // of the token that followed then
  int32_t n_tokens = 0;  // agreeing context, at most kMatchTokensMax
};

// Tokens that two positions of one sequence agree on, counted backwards from just before both.
//   n_max  the count stops there
int32_t agreeing_tokens(std::span<const TokenId> tokens, int32_t a, int32_t b, int32_t n_max);

class SuffixIndex {
 public:
  static constexpr int32_t kMatchTokensMin = 4;   // docs/experiments/2026-11-copy-source.md
  static constexpr int32_t kMatchTokensMax = 64;  // longer agreement says nothing new
  static constexpr int32_t kCandidatesMax = 32;   // bounds a lookup in text that repeats itself

  // All memory there will ever be: bytes(capacity_tokens).
  explicit SuffixIndex(int32_t capacity_tokens);
  static int64_t bytes(int32_t capacity_tokens);

  // Indexes what `tokens` has beyond the first n_tokens(), which are the ones seen before.
  //   tokens  the whole sequence, at most capacity_tokens
  void append(std::span<const TokenId> tokens);

  // Of the kCandidatesMax latest earlier places whose last kMatchTokensMin tokens agree, the one
  // with the longest agreeing context; the latest wins a tie.
  //   tokens  the sequence as last appended
  std::optional<SuffixMatch> find(std::span<const TokenId> tokens) const;

  int32_t n_tokens() const { return n_tokens_; }
  void clear();

 private:
  // The head slot of the run that ends before `end`: its own, or the free one where it belongs.
  int32_t& head_of(std::span<const TokenId> tokens, int32_t end);

  std::vector<int32_t> heads_;  // [power of two], latest end of a run; 0 is free
  std::vector<int32_t>
      previous_;  // [capacity_tokens + 1], by end: the end of the same run before; 0 is none
  int32_t n_tokens_ = 0;
};

}  // namespace slip
