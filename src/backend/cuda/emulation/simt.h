// A block of threads on a CPU, for tests: every thread is a fiber that runs until it has to wait
// for others. Fibers go on in an order that changes from barrier to barrier, so that a missing
// barrier shows as a wrong result.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>

// NOLINTBEGIN: these are CUDA's names.
#define __global__
#define __device__
#define __host__
#define __constant__ static const
#define __shared__ static  // one block runs at a time
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __restrict__

struct uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct dim3 {
  unsigned x = 1, y = 1, z = 1;
};

// Of the fiber that runs.
inline dim3 threadIdx, blockIdx, blockDim, gridDim;
// NOLINTEND

namespace slip::cuda::emulation {

// Runs `body` for every thread of every block. Aborts where threads wait for each other for ever.
void run_grid(dim3 blocks, dim3 threads, size_t shared_bytes, const std::function<void()>& body);

std::byte* dynamic_shared_bytes();  // of the block; NaN in every type at first

void wait_for_block();

// Waits until every lane of `mask` has called it; returns what they brought, [32] pointers to
// n_bytes each, valid until the lane's next exchange but one.
const std::byte* const* exchange(unsigned mask, const void* mine, size_t n_bytes);

template <class T>
T lane_value(const std::byte* const* lanes, int lane) {
  T value;
  std::memcpy(&value, lanes[lane], sizeof value);
  return value;
}

int block_or(int mine);

}  // namespace slip::cuda::emulation

// NOLINTBEGIN: these are CUDA's names.
inline void __syncthreads() { slip::cuda::emulation::wait_for_block(); }
inline int __syncthreads_or(int mine) { return slip::cuda::emulation::block_or(mine); }
inline void __syncwarp(unsigned mask = 0xFFFFFFFFu) {
  const char nothing = 0;
  slip::cuda::emulation::exchange(mask, &nothing, 1);
}
inline void __threadfence() {}

template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lane_mask) {
  using namespace slip::cuda::emulation;
  const int lane = static_cast<int>(threadIdx.x) & 31;
  return lane_value<T>(exchange(mask, &value, sizeof value), lane ^ lane_mask);
}
template <class T>
T __shfl_sync(unsigned mask, T value, int lane) {
  using namespace slip::cuda::emulation;
  return lane_value<T>(exchange(mask, &value, sizeof value), lane & 31);
}
inline unsigned __ballot_sync(unsigned mask, int predicate) {
  using namespace slip::cuda::emulation;
  const std::byte* const* lanes = exchange(mask, &predicate, sizeof predicate);
  unsigned votes = 0;
  for (int lane = 0; lane < 32; ++lane)
    if ((mask >> lane & 1u) != 0 && lane_value<int>(lanes, lane) != 0) votes |= 1u << lane;
  return votes;
}
inline int __popc(unsigned x) { return __builtin_popcount(x); }

template <class T>
T atomicAdd(T* at, T value) {
  const T old = *at;
  *at = old + value;
  return old;
}
inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
inline float __uint_as_float(unsigned x) {
  float y;
  std::memcpy(&y, &x, sizeof y);
  return y;
}
inline unsigned __float_as_uint(float x) {
  unsigned y;
  std::memcpy(&y, &x, sizeof y);
  return y;
}
// NOLINTEND
