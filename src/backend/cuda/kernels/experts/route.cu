#include "backend/cuda/kernels/experts/experts.h"
#include "backend/cuda/tile/lanes.h"
#include "backend/cuda/tile/launch.h"
#include "base/check.h"

namespace slip::cuda {
namespace {

constexpr float kTaken = -2;

// What compares: a number that is none loses to all others.
__device__ float rank_of(float probability) { return probability >= 0 ? probability : -1.0f; }

// Of two candidates the likelier one, the first among equals.
__device__ void keep_better(float& best, int32_t& at, float other, int32_t other_at) {
  if (other > best || (other == best && other_at < at)) {
    best = other;
    at = other_at;
  }
}

// The likeliest expert that is not taken; every lane gets it.
__device__ int32_t likeliest(const float* ranks, int32_t n) {
  float best = kTaken;
  int32_t at = n;
  for (int32_t i = lane_index(); i < n; i += kWarpLanes) keep_better(best, at, ranks[i], i);
  for (int step = kWarpLanes / 2; step > 0; step /= 2) {
    const float other = __shfl_xor_sync(kAllLanes, best, step);
    const int32_t other_at = __shfl_xor_sync(kAllLanes, at, step);
    keep_better(best, at, other, other_at);
  }
  return at;
}

// A warp for each row. Lane i has the expert that was chosen as number i.
__global__ void __launch_bounds__(kWarpLanes) route_kernel(RouteParams p) {
  const auto row = static_cast<int32_t>(blockIdx.x);
  if (row >= *p.n_rows) return;
  float* probabilities = dynamic_shared<float>();  // [n_experts]
  float* ranks = probabilities + p.n_experts;      // [n_experts]
  const float* logits = p.logits + int64_t{row} * p.n_experts;
  float highest = -INFINITY;
  for (int32_t i = lane_index(); i < p.n_experts; i += kWarpLanes)
    highest = fmaxf(highest, logits[i]);
  highest = max_of_lanes(highest);
  float total = 0;
  for (int32_t i = lane_index(); i < p.n_experts; i += kWarpLanes)
    total += probabilities[i] = expf(logits[i] - highest);
  total = sum_of_lanes(total);
  for (int32_t i = lane_index(); i < p.n_experts; i += kWarpLanes) {
    probabilities[i] /= total;
    ranks[i] = rank_of(probabilities[i]);
  }
  __syncwarp();

  int32_t mine = p.n_experts;
  for (int32_t n = 0; n < p.n_per_token; ++n) {
    const int32_t at = likeliest(ranks, p.n_experts);
    if (lane_index() == n) mine = at;
    __syncwarp();
    if (lane_index() == 0) ranks[at] = kTaken;
    __syncwarp();
  }
  int32_t place = 0;  // of mine in ascending order
  float chosen = 0;   // in the order of their choice
  for (int32_t n = 0; n < p.n_per_token; ++n) {
    const int32_t other = __shfl_sync(kAllLanes, mine, n);
    place += other < mine ? 1 : 0;
    chosen += probabilities[other];
  }
  if (lane_index() >= p.n_per_token) return;
  const int64_t to = int64_t{row} * p.n_per_token + place;
  p.chosen[to] = mine;
  p.weights[to] = p.renormalise ? probabilities[mine] / chosen : probabilities[mine];
}

}  // namespace

void route(Stream& stream, const RouteParams& p, int32_t n_rows_max) {
  SLIP_CHECK(p.n_experts <= kExpertsMax && p.n_per_token <= kExpertsPerTokenMax &&
             p.n_per_token <= p.n_experts);
  launch(stream, route_kernel,
         {.blocks = {static_cast<unsigned>(n_rows_max)},
          .threads = kWarpLanes,
          .shared_bytes = 2 * static_cast<size_t>(p.n_experts) * sizeof(float)},
         p);
}

}  // namespace slip::cuda
