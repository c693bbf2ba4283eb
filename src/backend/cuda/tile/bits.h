// 16-bit floats in registers, alone and two to a word.
#pragma once

#include "backend/cuda/tile/simt.h"

#if defined(__CUDACC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#else
#include "tensor/dtype.h"
#endif

namespace slip::cuda {

// Nearest, ties to even.
__device__ __forceinline__ uint16_t to_bf16(float x) {
#if defined(__CUDACC__)
  return __bfloat16_as_ushort(__float2bfloat16_rn(x));
#else
  return to_bfloat16(x).bits;
#endif
}
__device__ __forceinline__ uint16_t to_f16(float x) {
#if defined(__CUDACC__)
  return __half_as_ushort(__float2half_rn(x));
#else
  return float_to_half(x);
#endif
}
__device__ __forceinline__ float from_bf16(uint16_t bits) {
  return __uint_as_float(static_cast<unsigned>(bits) << 16);
}
__device__ __forceinline__ float from_f16(uint16_t bits) {
#if defined(__CUDACC__)
  return __half2float(__ushort_as_half(bits));
#else
  return half_to_float(bits);
#endif
}

// Two values as the matrix units read them: the first in the low half.
__device__ __forceinline__ uint32_t pair_of(uint16_t low, uint16_t high) {
  return static_cast<uint32_t>(low) | static_cast<uint32_t>(high) << 16;
}

}  // namespace slip::cuda
