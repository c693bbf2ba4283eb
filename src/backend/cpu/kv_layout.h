// Where a key and a value lie. A cache block holds 64 tokens of every KV layer, so that growing a
// sequence appends whole blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "backend/cpu/kernels/kv_plane.h"
#include "backend/split_rule.h"

namespace slip::cpu {

static_assert(kTokensPerBlock == kCacheBlockTokens);

// For each KV layer and KV head a plane of keys, then one of values, in the format of the attention
// kernel that reads them. Offsets are bytes.
struct KvLayout {
  int32_t n_layers = 0;
  int32_t n_kv_heads = 0;
  int32_t head_dim = 0;
  KvFormat format{};

  size_t plane_bytes() const {
    return static_cast<size_t>(kCacheBlockTokens) * static_cast<size_t>(head_dim) *
           element_bytes(format.type);
  }
  size_t key_offset(int32_t layer, int32_t head) const {
    return 2 * plane_bytes() *
           (static_cast<size_t>(layer) * static_cast<size_t>(n_kv_heads) +
            static_cast<size_t>(head));
  }
  size_t value_offset(int32_t layer, int32_t head) const {
    return key_offset(layer, head) + plane_bytes();
  }
  size_t block_bytes() const { return key_offset(n_layers, 0); }
};

// The cache of one KV layer and head of a sequence, element by element: `token` is a position.
struct KvHead {
  const KvLayout& layout;
  std::byte* const* blocks;  // of the sequence
  int32_t layer, head;

  float key(int32_t token, int32_t dim) const;
  float value(int32_t token, int32_t dim) const;
  // All dims of a token.
  void read_key(int32_t token, std::span<float> row) const;
  void read_value(int32_t token, std::span<float> row) const;
  void set_key(int32_t token, int32_t dim, float x) const;  // rounded to the cache's type
  void set_value(int32_t token, int32_t dim, float x) const;
};

}  // namespace slip::cpu
