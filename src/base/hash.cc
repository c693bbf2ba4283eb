#include "base/hash.h"

#include <xxhash.h>

namespace slip {

uint64_t hash_bytes(std::span<const std::byte> bytes, uint64_t seed) {
  return XXH64(bytes.data(), bytes.size(), seed);
}

uint64_t hash_tokens(std::span<const TokenId> tokens) { return hash_bytes(std::as_bytes(tokens)); }

}  // namespace slip
