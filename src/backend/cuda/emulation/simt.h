// A block of threads on a CPU, for tests: every thread is a fiber that runs until it has to wait
// for others. Fibers go on in an order that changes all the time, and warps drift apart, so that a
// missing barrier shows as a wrong result.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>

// NOLINTBEGIN: these are CUDA's names.
#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)

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

template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lane_mask) {
  using namespace slip::cuda::emulation;
  const int lane = static_cast<int>(threadIdx.x) & 31;
  return lane_value<T>(exchange(mask, &value, sizeof value), lane ^ lane_mask);
}
template <class T>
T __shfl_sync(unsigned mask, T value, int lane) {
  using namespace slip::cuda::emulation;
  return lane_value<T>(exchange(mask, &value, sizeof value), lane);
}
inline float __uint_as_float(unsigned x) {
  float y;
  std::memcpy(&y, &x, sizeof y);
  return y;
}
// NOLINTEND
