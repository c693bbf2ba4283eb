#include "text/word_cache.h"

#include <algorithm>
#include <bit>

#include "base/hash.h"

namespace slip {
namespace {

constexpr size_t kPlacesMin = 64;
constexpr size_t kPlacesMax = 1 << 15;
constexpr size_t kTextBytesPerPlace = 16;  // a new word comes up about that often

}  // namespace

WordCache::WordCache(size_t text_bytes)
    : places_(std::bit_ceil(std::clamp(text_bytes / kTextBytesPerPlace, kPlacesMin, kPlacesMax))) {}

size_t WordCache::place_of(std::string_view word) const {
  return hash_bytes(std::as_bytes(std::span(word))) & (places_.size() - 1);
}

std::span<const TokenId> WordCache::find(std::string_view word) const {
  const Place& place = places_[place_of(word)];
  if (std::string_view(place.bytes.data(), place.n_bytes) != word) return {};
  return std::span(place.ids).first(place.n_ids);
}

void WordCache::put(std::string_view word, std::span<const TokenId> ids) {
  Place& place = places_[place_of(word)];
  if (word.size() > place.bytes.size() || ids.size() > place.ids.size()) return;
  std::copy(word.begin(), word.end(), place.bytes.begin());
  std::copy(ids.begin(), ids.end(), place.ids.begin());
  place.n_bytes = static_cast<uint8_t>(word.size());
  place.n_ids = static_cast<uint8_t>(ids.size());
}

}  // namespace slip
