// Byte-pair encoding of one word: the pair of neighbours with the smallest rank is merged until
// none is left. Source: Sennrich, Haddow, Birch 2016, "Neural machine translation of rare words
// with subword units".
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace slip {

struct Merge {
  TokenId left, right, merged;
};

class Bpe {
 public:
  // Working memory of encode(), kept by the caller so that words do not allocate. One thread at a
  // time.
  struct Scratch {
    struct Symbol {
      TokenId id;
      int32_t previous, next;  // -1: none
    };
    struct Candidate {
      int32_t rank, position;       // the smaller rank first, then the leftmost
      TokenId left, right, merged;  // stale once the symbols at `position` are others
      bool operator<(const Candidate& other) const {
        return rank != other.rank ? rank > other.rank : position > other.position;
      }
    };
    std::vector<Symbol> symbols;
    std::vector<Candidate> candidates;  // a heap, best on top
  };

  //   byte_ids  [256] the token of each single byte
  //   merges    in the order of their rank; of two equal pairs the later one counts
  Bpe(const std::array<TokenId, 256>& byte_ids, std::span<const Merge> merges);

  // Appends the tokens of `word`, at most 2^31 - 1 bytes, to `out`. n log n in the bytes of the
  // word; about 50 bytes of `scratch` for each.
  void encode(std::string_view word, Scratch& scratch, std::vector<TokenId>& out) const;

 private:
  struct Target {
    uint64_t key = kNoKey;  // left and right
    int32_t rank = 0;
    TokenId merged{};
  };
  static constexpr uint64_t kNoKey = ~uint64_t{0};
  static constexpr TokenId kNoToken{-1};  // a symbol that was merged into its left neighbour
  static uint64_t key(TokenId left, TokenId right) {
    return static_cast<uint64_t>(index(left)) << 32 | static_cast<uint32_t>(index(right));
  }

  // Where `key` is, or belongs.
  size_t place_of(uint64_t key) const;
  // The pair that begins at `position`, if it merges.
  std::optional<Scratch::Candidate> candidate_at(const Scratch& scratch, int32_t position) const;
  void push_candidate(Scratch& scratch, int32_t position) const;
  void merge(Scratch& scratch, const Scratch::Candidate& candidate) const;

  std::array<TokenId, 256> byte_ids_;
  std::vector<Target> targets_;  // a hash table, at most half full; a power of two
  uint64_t seed_;                // of the hash
};

}  // namespace slip
