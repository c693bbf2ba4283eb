#include "backend/cuda/kernels/copy/copy.h"
#include "backend/cuda/tile/launch.h"

namespace slip::cuda {
namespace {

constexpr unsigned kCopyThreads = 256;

// A block for each pair.
__global__ void __launch_bounds__(kCopyThreads) copy_kernel(CopyParams p) {
  if (static_cast<int32_t>(blockIdx.x) >= *p.n_pairs) return;
  const RowPair pair = p.pairs[blockIdx.x];
  const float* from = p.from + int64_t{pair.from} * p.width;
  float* to = p.to + int64_t{pair.to} * p.width;
  for (auto i = static_cast<int32_t>(threadIdx.x); i < p.width; i += kCopyThreads) to[i] = from[i];
}

}  // namespace

void copy_rows(Stream& stream, const CopyParams& params, int32_t n_pairs_max) {
  launch(stream, copy_kernel,
         {.blocks = {static_cast<unsigned>(n_pairs_max)}, .threads = kCopyThreads}, params);
}

}  // namespace slip::cuda
