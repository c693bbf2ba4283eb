// The cache of one KV head of a sequence, element by element.
#pragma once

#include "backend/cuda/kernels/attention/attention.h"
#include "backend/cuda/tile/elements.h"

namespace slip::cuda {

struct CacheHead {
  CacheLayout layout;
  std::byte *keys, *values;  // of block 0

  __device__ CacheHead(const AttentionParams& p, int32_t segment, int32_t kv_head)
      : layout(p.cache),
        keys(p.step.segments[segment].cache + p.cache.keys(p.kv_layer, kv_head)),
        values(p.step.segments[segment].cache + p.cache.values(p.kv_layer, kv_head)) {}

  __device__ float key(int32_t position, int32_t dim) const {
    return load_element(layout.type, keys + offset(position, dim));
  }
  __device__ float value(int32_t position, int32_t dim) const {
    return load_element(layout.type, values + offset(position, dim));
  }
  // Rounded to the cache's type.
  __device__ void set_key(int32_t position, int32_t dim, float x) const {
    store_element(layout.type, keys + offset(position, dim), x);
  }
  __device__ void set_value(int32_t position, int32_t dim, float x) const {
    store_element(layout.type, values + offset(position, dim), x);
  }

 private:
  __device__ int64_t offset(int32_t position, int32_t dim) const {
    return position / CacheLayout::kBlockTokens * layout.block_bytes() +
           layout.offset(position % CacheLayout::kBlockTokens, dim);
  }
};

}  // namespace slip::cuda
