// The cache of one KV head of a sequence, element by element.
#pragma once

#include "backend/cuda/kernels/attention/attention.h"
#include "backend/cuda/tile/bits.h"

namespace slip::cuda {

struct CacheHead {
  CacheLayout layout;
  std::byte *keys, *values;  // of block 0

  __device__ CacheHead(const AttentionParams& p, int32_t segment, int32_t kv_head)
      : layout(p.cache),
        keys(p.step.segments[segment].cache + p.cache.keys(p.kv_layer, kv_head)),
        values(p.step.segments[segment].cache + p.cache.values(p.kv_layer, kv_head)) {}

  __device__ float key(int32_t position, int32_t dim) const {
    return get(keys + offset(position, dim));
  }
  __device__ float value(int32_t position, int32_t dim) const {
    return get(values + offset(position, dim));
  }
  // Rounded to the cache's type.
  __device__ void set_key(int32_t position, int32_t dim, float x) const {
    set(keys + offset(position, dim), x);
  }
  __device__ void set_value(int32_t position, int32_t dim, float x) const {
    set(values + offset(position, dim), x);
  }

 private:
  __device__ int64_t offset(int32_t position, int32_t dim) const {
    return position / CacheLayout::kBlockTokens * layout.block_bytes() +
           layout.offset(position % CacheLayout::kBlockTokens, dim);
  }
  __device__ float get(const std::byte* at) const {
    if (layout.type == DType::kF32) return *reinterpret_cast<const float*>(at);
    const uint16_t bits = *reinterpret_cast<const uint16_t*>(at);
    return layout.type == DType::kBF16 ? from_bf16(bits) : from_f16(bits);
  }
  __device__ void set(std::byte* at, float x) const {
    if (layout.type == DType::kF32) {
      *reinterpret_cast<float*>(at) = x;
    } else {
      *reinterpret_cast<uint16_t*>(at) = layout.type == DType::kBF16 ? to_bf16(x) : to_f16(x);
    }
  }
};

}  // namespace slip::cuda
