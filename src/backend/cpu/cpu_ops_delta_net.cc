#include "backend/cpu/cpu_ops_delta_net.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.h"

namespace slip::cpu {
namespace {

static_assert(kColumnsPerStrip == kStripColumns && kRowsAtOnce >= kDraftTokensMax);

// log(1 + e^x), and x itself where the float cannot tell them apart (specification 3.2).
float softplus(float x) { return x > 20.0f ? x : std::log1p(std::exp(x)); }

}  // namespace

CpuDeltaNet::CpuDeltaNet(const OpsStorage& storage, ThreadPool& pool, const KernelTable& kernels)
    : storage_(storage), config_(storage.config().delta_net), pool_(pool), kernels_(kernels) {
  SLIP_CHECK(config_.conv_kernel <= kTapsMax);
  const auto n_layers = static_cast<size_t>(storage.layout().n_recurrent_layers);
  const auto rows = static_cast<size_t>(storage.plan().batch_rows_max);
  const auto key_dim = static_cast<size_t>(config_.key_dim);
  taps_ = FloatBuffer(n_layers * static_cast<size_t>(config_.conv_kernel) *
                      static_cast<size_t>(config_.conv_channels()));
  taps_of_.assign(n_layers, VectorRef::kNone);
  gates_ = FloatBuffer(rows * 2 * static_cast<size_t>(config_.n_value_heads));
  scratch_floats_ = kRowsAtOnce * (2 * key_dim + static_cast<size_t>(config_.value_dim)) +
                    key_dim * kStripColumns;
  scratch_ = FloatBuffer(static_cast<size_t>(pool.n_threads()) * scratch_floats_);
  first_rows_.reserve(static_cast<size_t>(storage.plan().states_max));
}

int64_t CpuDeltaNet::workspace_bytes() const {
  return static_cast<int64_t>(taps_.n_bytes() + gates_.n_bytes() + scratch_.n_bytes());
}

void CpuDeltaNet::run(const Pass& pass, const DeltaNetArgs& args) {
  storage_.check_delta_net(pass);
  const float* taps = transposed_taps(args);
  first_rows_.clear();
  int32_t row = 0;
  for (const PassSegment& segment : pass.segments) {
    first_rows_.push_back(row);
    row += segment.n_rows;
  }
  const auto n_segments = static_cast<int>(pass.segments.size());
  const auto work_of = [&](int segment) {
    const auto i = static_cast<size_t>(segment);
    return segment_work(pass.segments[i], args, taps, first_rows_[i]);
  };
  const int32_t n_heads = heads_per_item(n_segments);
  const int32_t n_items = config_.n_value_heads / n_heads;  // of a segment
  pool_.run(n_segments * n_items, [&](int item, int thread) {
    run_heads(work_of(item / n_items), {.first = item % n_items * n_heads, .n = n_heads}, thread);
  });
  // Not before every head has read the old ones.
  pool_.run(n_segments, [&](int segment, int) { keep_inputs(work_of(segment)); });
}

// Heads of a key head share its convolution, where there are key heads enough for all threads.
int32_t CpuDeltaNet::heads_per_item(int32_t n_segments) const {
  const bool is_enough = n_segments * config_.n_key_heads >= pool_.n_threads();
  return is_enough ? config_.n_value_heads / config_.n_key_heads : 1;
}

// Channels in the lanes: [conv_kernel, conv_channels], made once for each layer.
const float* CpuDeltaNet::transposed_taps(const DeltaNetArgs& args) {
  const auto layer = static_cast<size_t>(args.recurrent_layer);
  const auto n_channels = static_cast<size_t>(config_.conv_channels());
  const auto n_taps = static_cast<size_t>(config_.conv_kernel);
  float* taps = taps_.data() + layer * n_taps * n_channels;
  if (taps_of_[layer] == args.conv) return taps;
  taps_of_[layer] = args.conv;
  const std::span<const float> conv = storage_.vector(args.conv);
  SLIP_CHECK(conv.size() == n_taps * n_channels);
  for (size_t c = 0; c < n_channels; ++c) {
    for (size_t j = 0; j < n_taps; ++j) taps[j * n_channels + c] = conv[c * n_taps + j];
  }
  return taps;
}

CpuDeltaNet::Work CpuDeltaNet::segment_work(const PassSegment& segment, const DeltaNetArgs& args,
                                            const float* taps, int32_t first_row) const {
  const SequenceState& state = storage_.state(segment.state);
  return {.args = args,
          .state = state,
          .taps = taps,
          .first_row = first_row,
          .n_fold = segment.n_fold,
          .n_certain = segment.n_certain,
          .n_rows = segment.n_rows};
}

// q, k and v before the convolution, of row t >= 1 - conv_kernel.
const float* CpuDeltaNet::conv_input(const Work& work, int32_t t) const {
  const int32_t layer = work.args.recurrent_layer;
  if (t >= work.n_fold) return storage_.row(Act::kProjected, work.first_row + t - work.n_fold);
  if (t >= 0) return storage_.kept_row(work.state, layer, t);
  return storage_.conv_history(work.state, layer) +
         (config_.conv_kernel - 1 + t) * config_.conv_channels();
}

void CpuDeltaNet::run_heads(const Work& work, const Heads& heads, int thread) {
  const int32_t certain_end = work.n_fold + work.n_certain;
  const int32_t end = work.n_fold + work.n_rows;
  for (const Rows& part :
       {Rows{RowKind::kFold, 0, work.n_fold}, Rows{RowKind::kCertain, work.n_fold, certain_end},
        Rows{RowKind::kDrafted, certain_end, end}}) {
    for (int32_t t = part.begin; t < part.end; t += kRowsAtOnce) {
      const Rows rows{part.kind, t, std::min(part.end, t + kRowsAtOnce)};
      const Inputs inputs = prepare(work, rows, heads.first, thread);
      for (int32_t head = heads.first; head < heads.first + heads.n; ++head)
        run_head(work, rows, inputs, head);
    }
  }
}

CpuDeltaNet::Inputs CpuDeltaNet::prepare(const Work& work, const Rows& rows, int32_t first_head,
                                         int thread) const {
  const int32_t key_dim = config_.key_dim;
  const int32_t key_channel = first_head / (config_.n_value_heads / config_.n_key_heads) * key_dim;
  Inputs inputs;
  inputs.q = scratch_.data() + static_cast<size_t>(thread) * scratch_floats_;
  inputs.k = inputs.q + kRowsAtOnce * key_dim;
  inputs.v = inputs.k + kRowsAtOnce * key_dim;
  inputs.strip = inputs.v + kRowsAtOnce * config_.value_dim;
  const int32_t n_before = config_.conv_kernel - 1;
  for (int32_t i = 0; i < rows.n() + n_before; ++i)
    inputs.conv_rows[i] = conv_input(work, rows.begin + i - n_before);

  convolve(work, rows, inputs, config_.key_width() + key_channel, key_dim, inputs.k);
  for (int32_t r = 0; r < rows.n(); ++r)
    kernels_.l2_normalize(inputs.k + r * key_dim, key_dim, 1.0f);
  if (rows.kind == RowKind::kFold) return inputs;
  convolve(work, rows, inputs, key_channel, key_dim, inputs.q);
  const float scale = 1.0f / std::sqrt(static_cast<float>(key_dim));
  for (int32_t r = 0; r < rows.n(); ++r)
    kernels_.l2_normalize(inputs.q + r * key_dim, key_dim, scale);
  return inputs;
}

void CpuDeltaNet::convolve(const Work& work, const Rows& rows, const Inputs& inputs,
                           int32_t channel, int32_t n_channels, float* out) const {
  kernels_.convolve({.inputs = inputs.conv_rows,
                     .taps = work.taps,
                     .taps_stride = static_cast<size_t>(config_.conv_channels()),
                     .n_taps = config_.conv_kernel,
                     .channel = channel,
                     .n_channels = n_channels,
                     .n_rows = rows.n(),
                     .out = out});
}

void CpuDeltaNet::run_head(const Work& work, const Rows& rows, const Inputs& inputs, int32_t head) {
  const int32_t value_dim = config_.value_dim;
  std::array<float, kRowsAtOnce> decay, beta;
  fill_gates(work, rows, head, decay, beta);
  convolve(work, rows, inputs, 2 * config_.key_width() + head * value_dim, value_dim, inputs.v);
  const DeltaParams common{.state = nullptr,
                           .q = inputs.q,
                           .k = inputs.k,
                           .v = inputs.v,
                           .decay = decay.data(),
                           .beta = beta.data(),
                           .out = nullptr,
                           .v_stride = static_cast<size_t>(value_dim),
                           .out_stride = storage_.stride(Act::kMixed),
                           .key_dim = config_.key_dim,
                           .n_rows = rows.n()};
  run_strips(work, rows, head, common, inputs.strip);
  if (rows.kind != RowKind::kFold) finish_rows(work, rows, head);
}

// decay = exp(g) and beta of each row: kept ones as they were, new ones from kProjected.
void CpuDeltaNet::fill_gates(const Work& work, const Rows& rows, int32_t head,
                             std::span<float> decay, std::span<float> beta) {
  const int32_t n_heads = config_.n_value_heads;
  const float rate = std::exp(storage_.vector(work.args.a_log)[static_cast<size_t>(head)]);
  const float dt_bias = storage_.vector(work.args.dt_bias)[static_cast<size_t>(head)];
  for (int32_t i = 0; i < rows.n(); ++i) {
    const auto at = static_cast<size_t>(i);
    if (rows.kind == RowKind::kFold) {
      const float* kept = storage_.kept_row(work.state, work.args.recurrent_layer, rows.begin + i);
      decay[at] = kept[config_.conv_channels() + head];
      beta[at] = kept[config_.conv_channels() + n_heads + head];
      continue;
    }
    const int32_t row = work.first_row + rows.begin - work.n_fold + i;
    const float* b =
        storage_.row(Act::kProjected, row) + config_.conv_channels() + config_.value_width();
    decay[at] = std::exp(-rate * softplus(b[n_heads + head] + dt_bias));
    beta[at] = 1.0f / (1.0f + std::exp(-b[head]));
    gate(row, 0, head) = decay[at];
    gate(row, 1, head) = beta[at];
  }
}

void CpuDeltaNet::run_strips(const Work& work, const Rows& rows, int32_t head,
                             const DeltaParams& common, float* strip_copy) const {
  const int32_t strip_floats = config_.key_dim * kStripColumns;
  float* state = storage_.recurrent_head(work.state, work.args.recurrent_layer, head);
  for (int32_t column = 0; column < config_.value_dim;
       column += kStripColumns, state += strip_floats) {
    DeltaParams params = common;
    params.state = state;
    params.v += column;
    if (rows.kind != RowKind::kFold) {
      const int32_t row = work.first_row + rows.begin - work.n_fold;
      params.out = storage_.row(Act::kMixed, row) + head * config_.value_dim + column;
    }
    if (rows.kind == RowKind::kDrafted) {
      std::copy_n(state, strip_floats, strip_copy);
      params.state = strip_copy;
    }
    kernels_.delta(params);
  }
}

void CpuDeltaNet::finish_rows(const Work& work, const Rows& rows, int32_t head) const {
  const int32_t column = head * config_.value_dim;
  for (int32_t t = rows.begin; t < rows.end; ++t) {
    const int32_t row = work.first_row + t - work.n_fold;
    float* out = storage_.row(Act::kMixed, row) + column;
    const float* z = storage_.row(Act::kProjected, row) + config_.conv_channels() + column;
    kernels_.gated_norm({.x = out,
                         .weight = storage_.vector(work.args.norm).data(),
                         .y = out,
                         .dim = config_.value_dim,
                         .eps = storage_.config().rms_norm_eps},
                        z);
  }
}

// The history comes to end at the last certain row; the drafted rows wait in `kept`.
void CpuDeltaNet::keep_inputs(const Work& work) const {
  const int32_t layer = work.args.recurrent_layer;
  const int32_t n_channels = config_.conv_channels();
  const int32_t n_before = config_.conv_kernel - 1;
  const int32_t end = work.n_fold + work.n_certain;
  float* history = storage_.conv_history(work.state, layer);
  if (end > 0) {
    for (int32_t i = 0; i < n_before; ++i) {
      std::copy_n(conv_input(work, end - n_before + i), n_channels, history + i * n_channels);
    }
  }
  for (int32_t i = 0; i < work.n_rows - work.n_certain; ++i) {
    const int32_t row = work.first_row + work.n_certain + i;
    float* kept = storage_.kept_row(work.state, layer, i);
    std::copy_n(storage_.row(Act::kProjected, row), n_channels, kept);
    std::copy_n(&gate(row, 0, 0), 2 * config_.n_value_heads, kept + n_channels);
  }
}

float& CpuDeltaNet::gate(int32_t row, int32_t which, int32_t head) const {
  return gates_.data()[static_cast<size_t>((2 * row + which) * config_.n_value_heads + head)];
}

}  // namespace slip::cpu
