#include "backend/cuda/kernels/attention/attention.h"
#include "backend/cuda/kernels/attention/cache_element.h"
#include "backend/cuda/tile/lanes.h"
#include "backend/cuda/tile/launch.h"
#include "backend/cuda/tile/math.h"
#include "base/check.h"

namespace slip::cuda {
namespace {

constexpr unsigned kAttendWarps = 4;
constexpr int kLaneDims = 8;  // of a head, at most: head_dim <= 256

// Where a row's part of a split lies in maxima and weights; times head_dim, in sums.
__device__ int64_t partial_index(const AttentionParams& p, int32_t split, int32_t row,
                                 int32_t head) {
  return (int64_t{split} * p.slab_rows + row - p.first_row) * p.n_heads + head;
}

// A warp for each row, query head and split; a lane has every 32nd dim. Softmax goes over the keys
// of the split in order, with the largest score so far.
__global__ void __launch_bounds__(kAttendWarps* kWarpLanes) attend_kernel(AttentionParams p) {
  const auto head = static_cast<int32_t>(blockIdx.x);
  const auto row = p.first_row + static_cast<int32_t>(blockIdx.y);
  const auto split = static_cast<int32_t>(blockIdx.z * kAttendWarps) + warp_index();
  if (row >= p.step.counts->n_rows || split >= p.n_splits) return;
  const RowData at = p.step.rows[row];
  const int32_t begin = split * at.split_tokens;
  if (begin > at.position) return;
  const int32_t split_end = begin + at.split_tokens;
  const int32_t end = split_end < at.position + 1 ? split_end : at.position + 1;

  const CacheHead cache(p, at.segment, head / (p.n_heads / p.cache.n_kv_heads));
  const float* q = p.queries + (int64_t{row} * p.n_heads + head) * p.cache.head_dim;
  float query[kLaneDims], sum[kLaneDims];
  SLIP_UNROLL for (int i = 0; i < kLaneDims; ++i) {
    const int dim = lane_index() + i * kWarpLanes;
    query[i] = dim < p.cache.head_dim ? q[dim] : 0.0f;
    sum[i] = 0;
  }
  float highest = -INFINITY, weight = 0;
  for (int32_t position = begin; position < end; ++position) {
    float score = 0;
    SLIP_UNROLL for (int i = 0; i < kLaneDims; ++i) {
      const int dim = lane_index() + i * kWarpLanes;
      if (dim < p.cache.head_dim) score = fmaf(query[i], cache.key(position, dim), score);
    }
    score = sum_of_lanes(score);
    const float before = highest;
    highest = fmaxf(highest, score);
    const float keep = expf(before - highest), share = expf(score - highest);
    weight = fmaf(weight, keep, share);
    SLIP_UNROLL for (int i = 0; i < kLaneDims; ++i) {
      const int dim = lane_index() + i * kWarpLanes;
      if (dim < p.cache.head_dim) sum[i] = fmaf(sum[i], keep, share * cache.value(position, dim));
    }
  }
  const int64_t partial = partial_index(p, split, row, head);
  SLIP_UNROLL for (int i = 0; i < kLaneDims; ++i) {
    const int dim = lane_index() + i * kWarpLanes;
    if (dim < p.cache.head_dim) p.sums[partial * p.cache.head_dim + dim] = sum[i];
  }
  if (lane_index() != 0) return;
  p.maxima[partial] = highest;
  p.weights[partial] = weight;
}

// A warp for each row and query head.
__global__ void __launch_bounds__(kAttendWarps* kWarpLanes) merge_kernel(AttentionParams p) {
  const auto row = p.first_row + static_cast<int32_t>(blockIdx.x);
  const auto head = static_cast<int32_t>(blockIdx.y * kAttendWarps) + warp_index();
  if (row >= p.step.counts->n_rows || head >= p.n_heads) return;
  const RowData at = p.step.rows[row];
  const int32_t n_splits = at.position / at.split_tokens + 1;
  float highest = -INFINITY;
  for (int32_t s = 0; s < n_splits; ++s)
    highest = fmaxf(highest, p.maxima[partial_index(p, s, row, head)]);
  float weight = 0;
  for (int32_t s = 0; s < n_splits; ++s) {
    const int64_t partial = partial_index(p, s, row, head);
    weight = fmaf(p.weights[partial], expf(p.maxima[partial] - highest), weight);
  }
  const float* gate =
      p.projected + row * p.projected_stride + int64_t{head} * p.query_stride + p.cache.head_dim;
  const bool has_gate = p.query_stride > p.cache.head_dim;
  float* mixed = p.mixed + row * p.mixed_stride + int64_t{head} * p.cache.head_dim;
  for (int dim = lane_index(); dim < p.cache.head_dim; dim += kWarpLanes) {
    float sum = 0;
    for (int32_t s = 0; s < n_splits; ++s) {
      const int64_t partial = partial_index(p, s, row, head);
      sum = fmaf(p.sums[partial * p.cache.head_dim + dim], expf(p.maxima[partial] - highest), sum);
    }
    mixed[dim] = sum / weight * (has_gate ? sigmoid(gate[dim]) : 1.0f);
  }
}

}  // namespace

void attend_plain(Stream& stream, const AttentionParams& p) {
  SLIP_CHECK(p.cache.head_dim <= kLaneDims * kWarpLanes);
  launch(stream, attend_kernel,
         {.blocks = {static_cast<unsigned>(p.n_heads), static_cast<unsigned>(p.slab_rows),
                     blocks_for(p.n_splits, kAttendWarps)},
          .threads = kAttendWarps * kWarpLanes},
         p);
}

void merge_splits(Stream& stream, const AttentionParams& p) {
  launch(stream, merge_kernel,
         {.blocks = {static_cast<unsigned>(p.slab_rows), blocks_for(p.n_heads, kAttendWarps)},
          .threads = kAttendWarps * kWarpLanes},
         p);
}

}  // namespace slip::cuda
