// Sums and maxima over the lanes of a warp and the warps of a block, in an order that depends on
// nothing but their number.
#pragma once

#include "backend/cuda/tile/simt.h"

namespace slip::cuda {

__device__ __forceinline__ int lane_index() { return static_cast<int>(threadIdx.x) % kWarpLanes; }
__device__ __forceinline__ int warp_index() { return static_cast<int>(threadIdx.x) / kWarpLanes; }
__device__ __forceinline__ int warp_count() { return static_cast<int>(blockDim.x) / kWarpLanes; }

// Over groups of n_lanes neighbouring lanes, a power of two; every lane gets the result.
template <class T>
__device__ __forceinline__ T sum_of_lanes(T value, int n_lanes = kWarpLanes) {
  for (int step = n_lanes / 2; step > 0; step /= 2)
    value = value + __shfl_xor_sync(kAllLanes, value, step);
  return value;
}
__device__ __forceinline__ float max_of_lanes(float value, int n_lanes = kWarpLanes) {
  for (int step = n_lanes / 2; step > 0; step /= 2)
    value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, step));
  return value;
}

// x . x of n floats, by a warp; every lane gets it.
__device__ __forceinline__ float sum_of_squares(const float* x, int n) {
  float sum = 0;
  for (int i = lane_index(); i < n; i += kWarpLanes) sum = fmaf(x[i], x[i], sum);
  return sum_of_lanes(sum);
}

// Over the block: lanes, then warps in ascending order. Every thread calls it and gets the result.
//   shared  [warp_count()], free for use; read until the next barrier
__device__ __forceinline__ float sum_of_block(float value, float* shared) {
  value = sum_of_lanes(value);
  __syncthreads();  // an earlier result may still be read
  if (lane_index() == 0) shared[warp_index()] = value;
  __syncthreads();
  float sum = 0;
  for (int w = 0; w < warp_count(); ++w) sum += shared[w];
  return sum;
}

}  // namespace slip::cuda
