// Copies from global to shared memory that do not pass through registers. A thread's copies since
// the last commit form a group; groups complete in order.
#pragma once

#include "backend/cuda/tile/simt.h"

namespace slip::cuda {

// 16 aligned bytes.
__device__ __forceinline__ void copy_async(void* shared, const void* from) {
#if !defined(__CUDACC__)
  std::memcpy(shared, from, 16);
#else
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from) : "memory");
#endif
}

__device__ __forceinline__ void commit_copies() {
#if defined(__CUDACC__)
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Until all but the last kPending groups of this thread are there. Others see them after a barrier.
template <int kPending>
__device__ __forceinline__ void wait_for_copies() {
#if defined(__CUDACC__)
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
#endif
}

}  // namespace slip::cuda
