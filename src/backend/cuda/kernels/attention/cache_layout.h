// Where a key and a value lie. A sequence's cache is one range of addresses: blocks of 64 tokens,
// in a block for each KV layer and head a plane of keys, then one of values.
//
// A plane [64, head_dim] is cut into tiles of 64 tokens by 128 bytes, in which the 16-byte chunks
// of a token change places by its number: eight tokens' chunks lie in different banks, and a plane
// is read by one copy of neighbouring bytes.
#pragma once

#include <cstdint>

#include "tensor/dtype.h"

namespace slip::cuda {

struct CacheLayout {
  int32_t n_layers = 0, n_kv_heads = 0, head_dim = 0;
  DType type = DType::kBF16;  // F32, F16 or BF16

  static constexpr int32_t kBlockTokens = 64;
  static constexpr int32_t kTileRowBytes = 128, kChunkBytes = 16;

  constexpr int32_t bytes_of_element() const { return type == DType::kF32 ? 4 : 2; }
  // Heads are padded to whole tiles.
  constexpr int64_t plane_bytes() const {
    const int64_t n_tiles = (head_dim * bytes_of_element() + kTileRowBytes - 1) / kTileRowBytes;
    return n_tiles * kBlockTokens * kTileRowBytes;
  }
  constexpr int64_t block_bytes() const { return 2 * plane_bytes() * n_layers * n_kv_heads; }

  // Of a plane in its block.
  constexpr int64_t keys(int32_t layer, int32_t kv_head) const {
    return 2 * plane_bytes() * (int64_t{layer} * n_kv_heads + kv_head);
  }
  constexpr int64_t values(int32_t layer, int32_t kv_head) const {
    return keys(layer, kv_head) + plane_bytes();
  }

  // Of an element in its plane.
  //   token  of the block
  constexpr int32_t offset(int32_t token, int32_t dim) const {
    const int32_t byte = dim * bytes_of_element();
    const int32_t chunk = byte % kTileRowBytes / kChunkBytes ^ token % 8;
    return byte / kTileRowBytes * kBlockTokens * kTileRowBytes + token * kTileRowBytes +
           chunk * kChunkBytes + byte % kChunkBytes;
  }
};

}  // namespace slip::cuda
