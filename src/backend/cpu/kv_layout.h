// Where a key and a value lie. A cache block holds 64 tokens of every KV layer, so that growing a
// sequence appends whole blocks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/split_rule.h"

namespace slip::cpu {

// Floats. For each KV layer and KV head: K transposed, [head_dim, 64], then V, [64, head_dim]. Both
// are the side of their product that is read row by row with tokens (scores) or dims (values) in
// the vector lanes: no horizontal sums.
struct KvLayout {
  int32_t n_layers = 0;
  int32_t n_kv_heads = 0;
  int32_t head_dim = 0;

  size_t plane_floats() const {
    return static_cast<size_t>(kCacheBlockTokens) * static_cast<size_t>(head_dim);
  }
  size_t key_offset(int32_t layer, int32_t head) const {
    return 2 * plane_floats() *
           (static_cast<size_t>(layer) * static_cast<size_t>(n_kv_heads) +
            static_cast<size_t>(head));
  }
  size_t value_offset(int32_t layer, int32_t head) const {
    return key_offset(layer, head) + plane_floats();
  }
  size_t block_floats() const { return key_offset(n_layers, 0); }
};

}  // namespace slip::cpu
