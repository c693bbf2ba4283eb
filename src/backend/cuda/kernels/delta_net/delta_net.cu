#include "backend/cuda/kernels/delta_net/delta_net.h"
#include "backend/cuda/tile/lanes.h"
#include "backend/cuda/tile/launch.h"
#include "backend/cuda/tile/math.h"

namespace slip::cuda {
namespace {

constexpr int kRuleWarps = 4;
constexpr unsigned kRuleThreads = kRuleWarps * kWarpLanes;
constexpr int kRuleColumns = kRuleWarps * kStripColumns;  // of a block
constexpr int kColumnLanes = 4;                           // share a column
constexpr int kRowsAtOnce = 8;                            // whose inputs wait in shared memory
constexpr unsigned kElementThreads = 256;

// Rows of a segment as the recurrence meets them: t counts from the first row to fold.
struct SegmentRows {
  const DeltaNetParams& p;
  const SegmentData& s;

  __device__ int32_t n_final() const { return s.n_fold + s.n_certain; }
  __device__ int32_t n_rows() const { return s.n_fold + s.n_rows; }
  __device__ const float* kept(int32_t t) const {
    return s.kept + p.kept_offset + int64_t{t} * p.kept_width();
  }
  __device__ int64_t row(int32_t t) const { return s.first_row + t - s.n_fold; }

  // Before the convolution; t >= 1 - conv_kernel.
  __device__ float conv_input(int32_t t, int32_t channel) const {
    if (t >= s.n_fold) return p.projected[row(t) * p.projected_stride + channel];
    if (t >= 0) return kept(t)[channel];
    return s.conv[p.conv_offset + int64_t{p.conv_kernel - 1 + t} * p.conv_channels() + channel];
  }
  __device__ float convolved(int32_t t, int32_t channel) const {
    float sum = 0;
    for (int32_t j = 0; j < p.conv_kernel; ++j)
      sum = fmaf(p.taps[channel * p.conv_kernel + j],
                 conv_input(t + 1 - p.conv_kernel + j, channel), sum);
    return silu(sum);
  }
  // Decay of a value head; its beta is n_value_heads further.
  __device__ const float* gates(int32_t t, int32_t head) const {
    const float* of_row =
        t < s.n_fold ? kept(t) + p.conv_channels() : p.gates + row(t) * 2 * p.n_value_heads;
    return of_row + head;
  }
};

// decay = exp(-exp(a_log) softplus(a + dt_bias)), beta = sigmoid(b).
__global__ void gates_kernel(DeltaNetParams p) {
  const auto row = static_cast<int64_t>(blockIdx.x);
  if (row >= p.step.counts->n_rows) return;
  const float* b = p.projected + row * p.projected_stride + p.conv_channels() + p.value_width();
  const float* a = b + p.n_value_heads;
  float* gates = p.gates + row * 2 * p.n_value_heads;
  for (auto h = static_cast<int32_t>(threadIdx.x); h < p.n_value_heads;
       h += static_cast<int32_t>(blockDim.x)) {
    gates[h] = expf(-expf(p.a_log[h]) * softplus(a[h] + p.dt_bias[h]));
    gates[p.n_value_heads + h] = sigmoid(b[h]);
  }
}

// What kRowsAtOnce rows bring to a block: q and k of its key head, normalised and padded with
// zeros, and v of its columns.
struct RuleInputs {
  float *q, *k, *v;  // [kRowsAtOnce, padded], [kRowsAtOnce, kRuleColumns]
  int padded;        // keys
};

__device__ void normalise(float* x, int key_dim, int padded, float extra) {
  const float scale = extra / sqrtf(sum_of_squares(x, key_dim) + 1e-6f);
  for (int i = lane_index(); i < padded; i += kWarpLanes) x[i] = i < key_dim ? x[i] * scale : 0.0f;
}

// Rows [t, t + n) into shared memory. All threads of the block.
__device__ void load_rows(const SegmentRows& rows, const RuleInputs& in, int32_t t, int n,
                          int32_t head, int32_t first_column) {
  const DeltaNetParams& p = rows.p;
  const int32_t key_head = head / (p.n_value_heads / p.n_key_heads);
  const int32_t n_columns =
      p.value_dim - first_column < kRuleColumns ? p.value_dim - first_column : kRuleColumns;
  const int32_t width = 2 * p.key_dim + n_columns;
  __syncthreads();  // the rows before are used up
  for (auto i = static_cast<int32_t>(threadIdx.x); i < n * width; i += kRuleThreads) {
    const int32_t r = i / width, c = i % width;
    if (c < p.key_dim) {
      in.q[r * in.padded + c] = rows.convolved(t + r, key_head * p.key_dim + c);
    } else if (c < 2 * p.key_dim) {
      const int32_t key = c - p.key_dim;
      in.k[r * in.padded + key] = rows.convolved(t + r, p.key_width() + key_head * p.key_dim + key);
    } else {
      const int32_t column = c - 2 * p.key_dim;
      const int32_t channel = 2 * p.key_width() + head * p.value_dim + first_column + column;
      in.v[r * kRuleColumns + column] = rows.convolved(t + r, channel);
    }
  }
  __syncthreads();
  for (int i = warp_index(); i < 2 * n; i += kRuleWarps) {
    const bool is_q = i < n;
    float* x = (is_q ? in.q : in.k) + (is_q ? i : i - n) * in.padded;
    normalise(x, p.key_dim, in.padded, is_q ? 1.0f / sqrtf(static_cast<float>(p.key_dim)) : 1.0f);
  }
  __syncthreads();
}

// A lane's share of a column: keys 16 j + 4 (lane % 4) + 0..3 for every step j.
template <int kSteps>
struct ColumnPart {
  float4 s[kSteps];

  __device__ void load_from(const float* head, int n_steps, int64_t first) {
    SLIP_UNROLL for (int j = 0; j < kSteps; ++j) {
      s[j] = {0, 0, 0, 0};
      if (j < n_steps)
        s[j] = *reinterpret_cast<const float4*>(head + first + j * kStripColumns * kKeysAtOnce);
    }
  }
  __device__ void store_to(float* head, int n_steps, int64_t first) const {
    SLIP_UNROLL for (int j = 0; j < kSteps; ++j) {
      if (j < n_steps)
        *reinterpret_cast<float4*>(head + first + j * kStripColumns * kKeysAtOnce) = s[j];
    }
  }

  // One token: S = decay S, S += k (beta (v - S k))^T; returns S q of the column.
  //   k, q  at the lane's first key
  __device__ float step(const float* k, const float* q, float v, float decay, float beta) {
    float predicted = 0;
    SLIP_UNROLL for (int j = 0; j < kSteps; ++j) {
      const float4 key = *reinterpret_cast<const float4*>(k + j * kKeysAtOnce);
      s[j] = {s[j].x * decay, s[j].y * decay, s[j].z * decay, s[j].w * decay};
      predicted = fmaf(s[j].x, key.x, predicted);
      predicted = fmaf(s[j].y, key.y, predicted);
      predicted = fmaf(s[j].z, key.z, predicted);
      predicted = fmaf(s[j].w, key.w, predicted);
    }
    const float delta = beta * (v - sum_of_lanes(predicted, kColumnLanes));
    float read = 0;
    SLIP_UNROLL for (int j = 0; j < kSteps; ++j) {
      const float4 key = *reinterpret_cast<const float4*>(k + j * kKeysAtOnce);
      const float4 query = *reinterpret_cast<const float4*>(q + j * kKeysAtOnce);
      s[j] = {fmaf(key.x, delta, s[j].x), fmaf(key.y, delta, s[j].y), fmaf(key.z, delta, s[j].z),
              fmaf(key.w, delta, s[j].w)};
      read = fmaf(s[j].x, query.x, read);
      read = fmaf(s[j].y, query.y, read);
      read = fmaf(s[j].z, query.z, read);
      read = fmaf(s[j].w, query.w, read);
    }
    return sum_of_lanes(read, kColumnLanes);
  }
};

// A block for 32 columns of a value head of a segment. Warps beyond the head's columns help to
// load.
template <int kSteps>
__global__ void __launch_bounds__(kRuleThreads) rule_kernel(DeltaNetParams p) {
  if (static_cast<int32_t>(blockIdx.y) >= p.step.counts->n_segments) return;
  const SegmentRows rows{p, p.step.segments[blockIdx.y]};
  const int32_t blocks_per_head = (p.value_dim + kRuleColumns - 1) / kRuleColumns;
  const int32_t head = static_cast<int32_t>(blockIdx.x) / blocks_per_head;
  const int32_t first_column = static_cast<int32_t>(blockIdx.x) % blocks_per_head * kRuleColumns;
  const int column = warp_index() * kStripColumns + lane_index() / kColumnLanes;
  const bool has_column = first_column + column < p.value_dim;
  const int n_steps = (p.key_dim + kKeysAtOnce - 1) / kKeysAtOnce;
  const int first_key = lane_index() % kColumnLanes * 4;
  float* state = rows.s.recurrent + p.recurrent_offset + head * head_floats(p.key_dim, p.value_dim);
  const int64_t first = state_index(p.key_dim, first_key, has_column ? first_column + column : 0);

  constexpr int kPadded = kSteps * kKeysAtOnce;
  auto* shared = dynamic_shared<float>();
  const RuleInputs in{shared, shared + kRowsAtOnce * kPadded, shared + 2 * kRowsAtOnce * kPadded,
                      kPadded};
  ColumnPart<kSteps> part;
  part.load_from(state, n_steps, first);
  for (int32_t begin = 0; begin < rows.n_rows(); begin += kRowsAtOnce) {
    const int n = rows.n_rows() - begin < kRowsAtOnce ? rows.n_rows() - begin : kRowsAtOnce;
    load_rows(rows, in, begin, n, head, first_column);
    for (int r = 0; r < n; ++r) {
      const int32_t t = begin + r;
      const float* gates = rows.gates(t, head);
      const float read = part.step(in.k + r * kPadded + first_key, in.q + r * kPadded + first_key,
                                   has_column ? in.v[r * kRuleColumns + column] : 0.0f, gates[0],
                                   gates[p.n_value_heads]);
      if (!has_column) continue;
      if (t + 1 == rows.n_final()) part.store_to(state, n_steps, first);
      if (t >= rows.s.n_fold && first_key == 0)
        p.read[rows.row(t) * p.value_width() + head * p.value_dim + first_column + column] = read;
    }
  }
}

// mixed = norm(read) silu(z); a warp for each row and value head.
__global__ void __launch_bounds__(kElementThreads) gated_norm_kernel(DeltaNetParams p) {
  const auto row = static_cast<int64_t>(blockIdx.x);
  const int32_t head = static_cast<int32_t>(blockIdx.y) * warp_count() + warp_index();
  if (row >= p.step.counts->n_rows || head >= p.n_value_heads) return;
  const int32_t first = head * p.value_dim;
  const float* read = p.read + row * p.value_width() + first;
  const float* z = p.projected + row * p.projected_stride + p.conv_channels() + first;
  float* mixed = p.mixed + row * p.mixed_stride + first;
  const float mean = sum_of_squares(read, p.value_dim) / static_cast<float>(p.value_dim);
  const float scale = 1.0f / sqrtf(mean + p.eps);
  for (int i = lane_index(); i < p.value_dim; i += kWarpLanes)
    mixed[i] = read[i] * scale * p.norm[i] * silu(z[i]);
}

// The convolution's history behind the certain rows, and the inputs of the drafted ones. A thread
// has a column of both, and reads old rows before it overwrites them.
__global__ void __launch_bounds__(kElementThreads) history_kernel(DeltaNetParams p) {
  if (static_cast<int32_t>(blockIdx.y) >= p.step.counts->n_segments) return;
  const SegmentRows rows{p, p.step.segments[blockIdx.y]};
  const auto column = static_cast<int32_t>(blockIdx.x * kElementThreads + threadIdx.x);
  const bool is_channel = column < p.conv_channels();
  if (column >= p.kept_width()) return;
  if (is_channel) {
    const int32_t n_before = p.conv_kernel - 1;
    float last[kConvKernelMax];
    SLIP_UNROLL for (int32_t i = 0; i < kConvKernelMax; ++i) last[i] =
        i < n_before ? rows.conv_input(rows.n_final() - n_before + i, column) : 0.0f;
    float* history = rows.s.conv + p.conv_offset + column;
    SLIP_UNROLL for (int32_t i = 0; i < kConvKernelMax; ++i) if (i < n_before)
        history[int64_t{i} * p.conv_channels()] = last[i];
  }
  float* kept = rows.s.kept + p.kept_offset + column;
  for (int32_t i = 0; i < rows.s.n_rows - rows.s.n_certain; ++i) {
    const int64_t row = rows.s.first_row + rows.s.n_certain + i;
    kept[int64_t{i} * p.kept_width()] =
        is_channel ? p.projected[row * p.projected_stride + column]
                   : p.gates[row * 2 * p.n_value_heads + column - p.conv_channels()];
  }
}

template <int kSteps>
void launch_rule(Stream& stream, const DeltaNetParams& p, unsigned n_segments) {
  const int32_t blocks_per_head = (p.value_dim + kRuleColumns - 1) / kRuleColumns;
  constexpr size_t kFloats = kRowsAtOnce * (2 * kSteps * kKeysAtOnce + kRuleColumns);
  launch(stream, rule_kernel<kSteps>,
         {.blocks = {static_cast<unsigned>(p.n_value_heads * blocks_per_head), n_segments},
          .threads = kRuleThreads,
          .shared_bytes = kFloats * sizeof(float)},
         p);
}

}  // namespace

void delta_net(Stream& stream, const DeltaNetParams& p, int32_t n_rows_max,
               int32_t n_segments_max) {
  const auto n_rows = static_cast<unsigned>(n_rows_max);
  const auto n_segments = static_cast<unsigned>(n_segments_max);
  launch(stream, gates_kernel, {.blocks = {n_rows}, .threads = 64}, p);
  // The narrowest that holds the keys: a column's sums depend on the model alone.
  const auto rule = p.key_dim <= 32    ? launch_rule<2>
                    : p.key_dim <= 64  ? launch_rule<4>
                    : p.key_dim <= 128 ? launch_rule<8>
                                       : launch_rule<16>;
  rule(stream, p, n_segments);
  launch(stream, gated_norm_kernel,
         {.blocks = {n_rows, blocks_for(p.n_value_heads, kElementThreads / kWarpLanes)},
          .threads = kElementThreads},
         p);
  launch(stream, history_kernel,
         {.blocks = {blocks_for(p.kept_width(), kElementThreads), n_segments},
          .threads = kElementThreads},
         p);
}

}  // namespace slip::cuda
