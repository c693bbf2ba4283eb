#include "backend/cuda/kernels/norm/norm.h"
#include "backend/cuda/tile/lanes.h"
#include "backend/cuda/tile/launch.h"

namespace slip::cuda {
namespace {

constexpr unsigned kNormThreads = 256;

// A block for each row.
__global__ void __launch_bounds__(kNormThreads) norm_kernel(NormParams p) {
  const auto row = static_cast<int32_t>(blockIdx.x);
  if (row >= *p.n_rows) return;
  const float* x = p.x + row * p.x_stride;
  float* y = p.y + row * p.y_stride;
  float sum = 0;
  for (auto i = static_cast<int32_t>(threadIdx.x); i < p.dim; i += kNormThreads)
    sum = fmaf(x[i], x[i], sum);
  sum = sum_of_block(sum, dynamic_shared<float>());
  const float scale = 1.0f / sqrtf(sum / static_cast<float>(p.dim) + p.eps);
  for (auto i = static_cast<int32_t>(threadIdx.x); i < p.dim; i += kNormThreads)
    y[i] = x[i] * scale * p.weight[i];
}

}  // namespace

void norm(Stream& stream, const NormParams& params, int32_t n_rows_max) {
  launch(stream, norm_kernel,
         {.blocks = {static_cast<unsigned>(n_rows_max)},
          .threads = kNormThreads,
          .shared_bytes = kNormThreads / kWarpLanes * sizeof(float)},
         params);
}

}  // namespace slip::cuda
