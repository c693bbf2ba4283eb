#include "draft/suffix_index.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace slip {
namespace {

// At most half of the slots are ever taken, so probing ends soon.
size_t n_heads(int32_t capacity_tokens) {
  return std::bit_ceil(2 * static_cast<size_t>(capacity_tokens));
}

uint64_t hash_run(std::span<const TokenId> run) {
  uint64_t hash = 0;
  for (const TokenId token : run) {
    hash = (hash ^ static_cast<uint64_t>(index(token) + 1)) *
           0x9e3779b97f4a7c15u;  // 2^64 / golden ratio
    hash ^= hash >> 32;
  }
  return hash;
}

}  // namespace

int32_t agreeing_tokens(std::span<const TokenId> tokens, int32_t a, int32_t b, int32_t n_max) {
  const int32_t limit = std::min({a, b, n_max});
  int32_t n = 0;
  while (n < limit &&
         tokens[static_cast<size_t>(a - 1 - n)] == tokens[static_cast<size_t>(b - 1 - n)])
    ++n;
  return n;
}

SuffixIndex::SuffixIndex(int32_t capacity_tokens) {
  SLIP_CHECK(capacity_tokens > 0);
  heads_.resize(n_heads(capacity_tokens));
  previous_.resize(static_cast<size_t>(capacity_tokens) + 1);
}

int64_t SuffixIndex::bytes(int32_t capacity_tokens) {
  const size_t entries = n_heads(capacity_tokens) + static_cast<size_t>(capacity_tokens) + 1;
  return static_cast<int64_t>(entries * sizeof(int32_t));
}

int32_t& SuffixIndex::head_of(std::span<const TokenId> tokens, int32_t end) {
  const auto run = tokens.subspan(static_cast<size_t>(end - kMatchTokensMin), kMatchTokensMin);
  const size_t mask = heads_.size() - 1;
  size_t slot = hash_run(run) & mask;
  while (heads_[slot] != 0 &&
         agreeing_tokens(tokens, heads_[slot], end, kMatchTokensMin) < kMatchTokensMin) {
    slot = (slot + 1) & mask;
  }
  return heads_[slot];
}

void SuffixIndex::append(std::span<const TokenId> tokens) {
  SLIP_CHECK(tokens.size() >= static_cast<size_t>(n_tokens_));
  SLIP_CHECK(tokens.size() < previous_.size());
  const auto n = static_cast<int32_t>(tokens.size());
  for (int32_t end = std::max(n_tokens_ + 1, kMatchTokensMin); end <= n; ++end) {
    int32_t& head = head_of(tokens, end);
    previous_[static_cast<size_t>(end)] = head;
    head = end;
  }
  n_tokens_ = n;
}

std::optional<SuffixMatch> SuffixIndex::find(std::span<const TokenId> tokens) const {
  SLIP_CHECK(tokens.size() == static_cast<size_t>(n_tokens_));
  if (n_tokens_ < kMatchTokensMin) return std::nullopt;
  SuffixMatch best;
  int32_t end = previous_[static_cast<size_t>(n_tokens_)];
  for (int32_t i = 0; i < kCandidatesMax && end != 0; ++i) {
    const int32_t n_agreeing = agreeing_tokens(tokens, end, n_tokens_, kMatchTokensMax);
    if (n_agreeing > best.n_tokens) best = {.position = end, .n_tokens = n_agreeing};
    end = previous_[static_cast<size_t>(end)];
  }
  if (best.n_tokens == 0) return std::nullopt;
  return best;
}

void SuffixIndex::clear() {
  std::ranges::fill(heads_, 0);  // previous_ is written before it is read
  n_tokens_ = 0;
}

}  // namespace slip
