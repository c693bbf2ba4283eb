// Elements of memory in the three plain types of weights, scales and caches.
#pragma once

#include "backend/cuda/tile/bits.h"
#include "tensor/dtype.h"

namespace slip::cuda {

//   type  F32, F16 or BF16
//   at    aligned as the type
__device__ __forceinline__ float load_element(DType type, const std::byte* at) {
  if (type == DType::kF32) return *reinterpret_cast<const float*>(at);
  const uint16_t bits = *reinterpret_cast<const uint16_t*>(at);
  return type == DType::kBF16 ? from_bf16(bits) : from_f16(bits);
}

// Rounded to the nearest.
__device__ __forceinline__ void store_element(DType type, std::byte* at, float x) {
  if (type == DType::kF32) {
    *reinterpret_cast<float*>(at) = x;
  } else {
    *reinterpret_cast<uint16_t*>(at) = type == DType::kBF16 ? to_bf16(x) : to_f16(x);
  }
}

}  // namespace slip::cuda
