// One hash for everything that is stored and proven: 64 bits of xxHash (XXH64).
// Source: https://github.com/Cyan4973/xxHash, doc/xxhash_spec.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/ids.h"

namespace slip {

uint64_t hash_bytes(std::span<const std::byte> bytes, uint64_t seed = 0);

// Of the ids in order: what a stored state proves to be the prefix of.
uint64_t hash_tokens(std::span<const TokenId> tokens);

}  // namespace slip
