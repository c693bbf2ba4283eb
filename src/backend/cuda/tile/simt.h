// The words that kernels are written in: thread indices, barriers, shuffles, qualifiers. nvcc knows
// them; any other compiler gets an emulation in which a block's threads run one after the other, so
// that kernels are tested where there is no GPU.
#pragma once

#if defined(__CUDACC__)
#include <cuda_runtime.h>
#define SLIP_UNROLL _Pragma("unroll")  // the loop behind it, whole: its arrays live in registers
#else
#define SLIP_UNROLL
#include "backend/cuda/emulation/simt.h"
#endif

#include <cstddef>
#include <cstdint>

namespace slip::cuda {

inline constexpr int kWarpLanes = 32;
inline constexpr unsigned kAllLanes = 0xFFFFFFFFu;

// Memory of the block whose size the launch states. Its content is undefined at first.
template <class T>
__device__ __forceinline__ T* dynamic_shared() {
#if defined(__CUDACC__)
  extern __shared__ __align__(128) unsigned char shared_bytes[];
  return reinterpret_cast<T*>(shared_bytes);
#else
  return reinterpret_cast<T*>(emulation::dynamic_shared_bytes());
#endif
}

}  // namespace slip::cuda
