// Words repeat: the tokens of a word are remembered in one place that its hash names, until another
// word takes the place. Bounded in memory, and in time whatever the text.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace slip {

class WordCache {
 public:
  // For a text of `text_bytes` bytes: 2 MiB at most, little for a little text.
  explicit WordCache(size_t text_bytes);

  // The tokens of `word`; empty if it is not remembered. Valid until the next put().
  std::span<const TokenId> find(std::string_view word) const;

  // Remembers `word`, which is not empty, unless it or its tokens are too long.
  void put(std::string_view word, std::span<const TokenId> ids);

 private:
  // One cache line. An empty place has no ids.
  struct Place {
    std::array<TokenId, 6> ids;
    std::array<char, 38> bytes;
    uint8_t n_ids, n_bytes;
  };
  static_assert(sizeof(Place) == 64);

  size_t place_of(std::string_view word) const;

  std::vector<Place> places_;  // a power of two
};

}  // namespace slip
