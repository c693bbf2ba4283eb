// Starts a kernel. Kernels take one struct of parameters, by value.
#pragma once

#include <string>

#include "backend/cuda/device/device.h"
#include "backend/cuda/tile/simt.h"
#include "base/error.h"

namespace slip::cuda {

struct LaunchShape {
  dim3 blocks;
  unsigned threads = 0;     // of a block, a multiple of 32
  size_t shared_bytes = 0;  // dynamic, of a block
};

// Blocks that `n` things take.
constexpr unsigned blocks_for(int32_t n, unsigned per_block) {
  return (static_cast<unsigned>(n) + per_block - 1) / per_block;
}

// Asynchronous. Throws Error{kDevice} where the launch is refused. A grid without blocks does
// nothing.
template <class Params>
void launch(Stream& stream, void (*kernel)(Params), const LaunchShape& shape,
            const Params& params) {
  const dim3 blocks = shape.blocks;
  if (blocks.x == 0 || blocks.y == 0 || blocks.z == 0) return;
#if defined(__CUDACC__)
  constexpr size_t kDefaultMax = 48 << 10;
  cudaError_t error = cudaSuccess;
  if (shape.shared_bytes > kDefaultMax) {
    error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 static_cast<int>(shape.shared_bytes));
  }
  if (error == cudaSuccess) {
    kernel<<<blocks, shape.threads, shape.shared_bytes,
             static_cast<cudaStream_t>(stream.handle())>>>(params);
    error = cudaGetLastError();
  }
  if (error != cudaSuccess) {
    throw Error(ErrorCode::kDevice, std::string("kernel launch: ") + cudaGetErrorString(error));
  }
#else
  static_cast<void>(stream);
  emulation::run_grid(blocks, {shape.threads, 1, 1}, shape.shared_bytes, [&] { kernel(params); });
#endif
}

}  // namespace slip::cuda
