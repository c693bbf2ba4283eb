#include "backend/cuda/kernels/attention/attention.h"
#include "backend/cuda/kernels/attention/cache_element.h"
#include "backend/cuda/tile/lanes.h"
#include "backend/cuda/tile/launch.h"

namespace slip::cuda {
namespace {

constexpr unsigned kAppendWarps = 4;

// The angle is rounded to float, as the published models' reference does.
__global__ void turn_kernel(TurnParams p) {
  const auto row = static_cast<int32_t>(blockIdx.x);
  if (row >= p.step.counts->n_rows) return;
  const auto position = static_cast<float>(p.step.rows[row].position);
  float* turn = p.turns + int64_t{row} * 2 * p.n_pairs;
  for (auto i = static_cast<int32_t>(threadIdx.x); i < p.n_pairs;
       i += static_cast<int32_t>(blockDim.x)) {
    const auto angle = static_cast<double>(position * p.frequencies[i]);
    turn[i] = static_cast<float>(cos(angle)) * p.magnitude;
    turn[p.n_pairs + i] = static_cast<float>(sin(angle)) * p.magnitude;
  }
}

// A head's norm, turn and scale; a warp has a head.
struct HeadTurn {
  const float *x, *weight, *turn;
  int32_t n_pairs;
  float scale;  // of the norm

  __device__ HeadTurn(const AttentionParams& p, const float* head, const float* norm, int32_t row)
      : x(head),
        weight(norm),
        turn(p.turns + int64_t{row} * 2 * p.n_pairs),
        n_pairs(p.n_pairs),
        scale(1) {
    if (weight == nullptr) return;
    const float mean = sum_of_squares(x, p.cache.head_dim) / static_cast<float>(p.cache.head_dim);
    scale = 1.0f / sqrtf(mean + p.eps);
  }

  __device__ float normed(int32_t i) const {
    return weight == nullptr ? x[i] : x[i] * scale * weight[i];
  }
  __device__ float operator()(int32_t i) const {
    if (i < n_pairs) return normed(i) * turn[i] - normed(i + n_pairs) * turn[n_pairs + i];
    if (i >= 2 * n_pairs) return normed(i);
    const int32_t first = i - n_pairs;
    return normed(i) * turn[first] + normed(first) * turn[n_pairs + first];
  }
};

// A warp for each row and head: query heads, then KV heads.
__global__ void __launch_bounds__(kAppendWarps* kWarpLanes) append_kernel(AttentionParams p) {
  const auto row = static_cast<int32_t>(blockIdx.x);
  const auto head = static_cast<int32_t>(blockIdx.y * kAppendWarps) + warp_index();
  if (row >= p.step.counts->n_rows || head >= p.n_heads + p.cache.n_kv_heads) return;
  const float* projected = p.projected + row * p.projected_stride;
  if (head < p.n_heads) {
    const HeadTurn query(p, projected + int64_t{head} * p.query_stride, p.q_norm, row);
    const float scale = 1.0f / sqrtf(static_cast<float>(p.cache.head_dim));
    float* to = p.queries + (int64_t{row} * p.n_heads + head) * p.cache.head_dim;
    for (int i = lane_index(); i < p.cache.head_dim; i += kWarpLanes) to[i] = query(i) * scale;
    return;
  }
  const int32_t kv_head = head - p.n_heads;
  const float* k = projected + int64_t{p.n_heads} * p.query_stride + kv_head * p.cache.head_dim;
  const float* v = k + p.cache.n_kv_heads * p.cache.head_dim;
  const HeadTurn key(p, k, p.k_norm, row);
  const RowData at = p.step.rows[row];
  const CacheHead cache(p, at.segment, kv_head);
  for (int i = lane_index(); i < p.cache.head_dim; i += kWarpLanes) {
    cache.set_key(at.position, i, key(i));
    cache.set_value(at.position, i, v[i]);
  }
}

}  // namespace

void turn_rows(Stream& stream, const TurnParams& params, int32_t n_rows_max) {
  launch(stream, turn_kernel, {.blocks = {static_cast<unsigned>(n_rows_max)}, .threads = 64},
         params);
}

void append(Stream& stream, const AttentionParams& params, int32_t n_rows_max) {
  launch(stream, append_kernel,
         {.blocks = {static_cast<unsigned>(n_rows_max),
                     blocks_for(params.n_heads + params.cache.n_kv_heads, kAppendWarps)},
          .threads = kAppendWarps * kWarpLanes},
         params);
}

}  // namespace slip::cuda
