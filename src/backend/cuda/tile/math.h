// Functions of one number that kernels share.
#pragma once

#include "backend/cuda/tile/simt.h"

namespace slip::cuda {

__device__ __forceinline__ float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }
__device__ __forceinline__ float silu(float x) { return x * sigmoid(x); }

// log(1 + e^x), and x itself where the float cannot tell them apart.
__device__ __forceinline__ float softplus(float x) { return x > 20.0f ? x : log1pf(expf(x)); }

}  // namespace slip::cuda
