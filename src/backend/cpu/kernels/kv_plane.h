// Where the elements of one head's keys or values lie in a block of the cache. The order is the
// attention kernel's choice; everybody else (append, definitions, stored states) asks here.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"

namespace slip::cpu {

inline constexpr int32_t kTokensPerBlock = 64;  // of the KV cache

// A plane [64 tokens, head_dim] in tiles. Strides are elements: from tile to tile, and inside one.
struct KvPlane {
  int32_t token_tile, token_tile_stride, token_stride;
  int32_t dim_tile, dim_tile_stride, dim_stride;

  friend bool operator==(const KvPlane&, const KvPlane&) = default;

  constexpr size_t index(int32_t token, int32_t dim) const {
    return static_cast<size_t>(token / token_tile * token_tile_stride +
                               token % token_tile * token_stride +
                               dim / dim_tile * dim_tile_stride + dim % dim_tile * dim_stride);
  }

  // Calls body(dim, index) for all dims of a token, ascending.
  template <class Body>
  void for_dims(int32_t token, int32_t head_dim, Body&& body) const {
    size_t tile = index(token, 0);
    for (int32_t begin = 0; begin < head_dim; begin += dim_tile) {
      for (int32_t d = 0; d < dim_tile; ++d)
        body(begin + d, tile + static_cast<size_t>(d) * static_cast<size_t>(dim_stride));
      tile += static_cast<size_t>(dim_tile_stride);
    }
  }
};

// [64, head_dim]
constexpr KvPlane token_major(int32_t head_dim) { return {1, head_dim, 0, 1, 1, 0}; }
// [head_dim, 64]
constexpr KvPlane dim_major() { return {1, 1, 0, 1, kTokensPerBlock, 0}; }

struct KvFormat {
  DType type = DType::kF32;  // F32, F16 or BF16
  KvPlane keys{}, values{};

  friend bool operator==(const KvFormat&, const KvFormat&) = default;
};

}  // namespace slip::cpu
