#include "backend/cuda/kernels/embed/embed.h"
#include "backend/cuda/kernels/weight_value.h"
#include "backend/cuda/tile/launch.h"

namespace slip::cuda {
namespace {

constexpr unsigned kEmbedThreads = 256;

// A block for each row.
__global__ void __launch_bounds__(kEmbedThreads) embed_kernel(EmbedParams p) {
  const auto row = static_cast<int32_t>(blockIdx.x);
  if (row >= p.step.counts->n_rows) return;
  const int32_t width = p.table.n_in;
  for (auto i = static_cast<int32_t>(threadIdx.x); i < width; i += kEmbedThreads)
    p.out[int64_t{row} * width + i] = weight_value(p.table, p.step.tokens[row], i);
}

}  // namespace

void embed(Stream& stream, const EmbedParams& params, int32_t n_rows_max) {
  launch(stream, embed_kernel,
         {.blocks = {static_cast<unsigned>(n_rows_max)}, .threads = kEmbedThreads}, params);
}

}  // namespace slip::cuda
