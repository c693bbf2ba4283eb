#include "backend/cuda/kernels/experts/experts.h"
#include "backend/cuda/kernels/product/dot_rows.h"
#include "backend/cuda/tile/launch.h"
#include "backend/cuda/tile/math.h"

namespace slip::cuda {
namespace {

constexpr unsigned kExpertWarps = 8;

__device__ const ExpertMatrices& expert_of(const ExpertsParams& p, int32_t row, int32_t slot) {
  if (slot == p.n_per_token) return p.experts[p.n_experts];
  return p.experts[p.chosen[int64_t{row} * p.n_per_token + slot]];
}

__device__ float* hidden_of(const ExpertsParams& p, int32_t row, int32_t slot) {
  return p.hidden + (int64_t{row} * p.n_slots() + slot) * p.hidden_width;
}

// A warp for each column of a row's slot.
__global__ void __launch_bounds__(kExpertWarps* kWarpLanes) expand_kernel(ExpertsParams p) {
  const auto column = static_cast<int32_t>(blockIdx.x * kExpertWarps) + warp_index();
  const auto row = static_cast<int32_t>(blockIdx.y);
  const auto slot = static_cast<int32_t>(blockIdx.z);
  if (row >= *p.n_rows) return;
  const ExpertMatrices& expert = expert_of(p, row, slot);
  if (column >= expert.gate.n_out) return;
  const float* x = p.x + int64_t{row} * p.width;
  const float gate = dot(expert.gate, column, x);
  const float up = dot(expert.up, column, x);
  if (lane_index() == 0) hidden_of(p, row, slot)[column] = silu(gate) * up;
}

// A warp for each column of a row.
__global__ void __launch_bounds__(kExpertWarps* kWarpLanes) combine_kernel(ExpertsParams p) {
  const auto column = static_cast<int32_t>(blockIdx.x * kExpertWarps) + warp_index();
  const auto row = static_cast<int32_t>(blockIdx.y);
  if (row >= *p.n_rows || column >= p.width) return;
  float& residual = p.residual[int64_t{row} * p.width + column];
  float sum = residual;
  for (int32_t slot = 0; slot < p.n_slots(); ++slot) {
    const float weight = slot == p.n_per_token ? sigmoid(p.shared_logits[row])
                                               : p.weights[int64_t{row} * p.n_per_token + slot];
    sum = fmaf(weight, dot(expert_of(p, row, slot).down, column, hidden_of(p, row, slot)), sum);
  }
  if (lane_index() == 0) residual = sum;
}

}  // namespace

void experts_plain(Stream& stream, const ExpertsParams& p, int32_t n_rows_max) {
  const auto n_rows = static_cast<unsigned>(n_rows_max);
  constexpr unsigned kThreads = kExpertWarps * kWarpLanes;
  launch(stream, expand_kernel,
         {.blocks = {blocks_for(p.hidden_width, kExpertWarps), n_rows,
                     static_cast<unsigned>(p.n_slots())},
          .threads = kThreads},
         p);
  launch(stream, combine_kernel,
         {.blocks = {blocks_for(p.width, kExpertWarps), n_rows}, .threads = kThreads}, p);
}

}  // namespace slip::cuda
