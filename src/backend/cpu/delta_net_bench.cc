#include "backend/cpu/delta_net_bench.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "backend/cpu/bench_setup.h"
#include "backend/cpu/cpu_ops.h"

namespace slip::cpu {
namespace {

// One sequence with a random state in every layer.
struct DeltaNetSetup {
  DeltaNetSetup(const BenchDevice& bench_device, const DeltaNetBenchOptions& o)
      : device(bench_device),
        options(o),
        config(make_config(o)),
        layout(config, {}),
        ops(config, layout, {&state, 1},
            {.batch_rows_max = kSegmentRowsMax,
             .logit_rows_max = 1,
             .states_max = 1,
             .n_splits = kSplits},
            device.pool, device.table) {
    fill_state();
    for (int32_t r = 0; r < kSegmentRowsMax; ++r) {
      fill_normal({ops.row(Act::kProjected, r), ops.stride(Act::kProjected)},
                  static_cast<uint64_t>(r), 1.0f);
    }
    const DeltaNetConfig& d = config.delta_net;
    const auto n_heads = static_cast<size_t>(d.n_value_heads);
    args = {.conv = add_vector(static_cast<size_t>(d.conv_channels() * d.conv_kernel)),
            .a_log = add_vector(n_heads),
            .dt_bias = add_vector(n_heads),
            .norm = add_vector(static_cast<size_t>(d.value_dim))};
    // The taps of a layer are put in another order in its first pass.
    for (int32_t layer = 0; layer < layout.n_recurrent_layers; ++layer) run(1);
  }

  static ModelConfig make_config(const DeltaNetBenchOptions& o) {
    constexpr int64_t kLayersMax = 512;
    ModelConfig config;
    config.hidden_size = config.intermediate_size = config.vocab_size = 8;
    config.rms_norm_eps = 1e-6f;
    config.attention = {.n_heads = 1, .n_kv_heads = 1, .head_dim = 16, .rope = {}};  // no layer's
    config.delta_net = {.n_key_heads = o.n_key_heads,
                        .n_value_heads = o.n_value_heads,
                        .key_dim = o.key_dim,
                        .value_dim = o.value_dim,
                        .conv_kernel = o.conv_kernel};
    check_widths(config);
    const int64_t state_bytes =
        int64_t{o.n_value_heads} * o.key_dim * o.value_dim * static_cast<int64_t>(sizeof(float));
    config.layers.resize(static_cast<size_t>(n_rotated(state_bytes, kLayersMax)),
                         {MixerKind::kDeltaNet});
    return config;
  }

  void fill_state() {
    const auto n_layers = static_cast<size_t>(layout.n_recurrent_layers);
    state.recurrent = FloatBuffer(n_layers * layout.recurrent_floats());
    state.conv = FloatBuffer(n_layers * layout.conv_floats());
    state.kept = FloatBuffer(n_layers * layout.kept_floats());
    fill_normal(state.recurrent.span(), 101, 0.1f);
    fill_normal(state.conv.span(), 102, 1.0f);
    fill_normal(state.kept.span(), 103, 1.0f);
    const DeltaNetConfig& d = config.delta_net;
    for (int32_t layer = 0; layer < layout.n_recurrent_layers; ++layer) {
      for (int32_t row = 0; row < kDraftTokensMax; ++row) {
        float* gates = ops.kept_row(state, layer, row) + d.conv_channels();
        std::fill_n(gates, 2 * d.n_value_heads, 0.5f);  // decay and beta lie between 0 and 1
      }
    }
  }

  VectorRef add_vector(size_t n) {
    std::vector<float> values(n);
    fill_normal(values, 104 + n, 0.5f);
    return ops.add_vector(values);
  }

  void run(int32_t n_rows) {
    constexpr int32_t kPosition = kSegmentRowsMax;  // any: the recurrence does not see it
    const std::vector<TokenId> tokens(static_cast<size_t>(n_rows));
    const PassSegment segment{.state = StateId{0},
                              .position = kPosition,
                              .n_rows = n_rows,
                              .n_certain = 1,
                              .n_fold = options.n_folded};
    args.recurrent_layer = next_layer;
    ops.delta_net({.tokens = tokens, .segments = {&segment, 1}}, args);
    next_layer = (next_layer + 1) % layout.n_recurrent_layers;
  }

  BenchThreads device;
  DeltaNetBenchOptions options;
  ModelConfig config;
  StateLayout layout;
  SequenceState state;
  CpuOps ops;
  DeltaNetArgs args;
  int32_t next_layer = 0;
};

// The state and the convolution's history come and go; taps, the rows' inputs and outputs, the
// inputs of folded rows and those that drafted rows leave behind pass once.
double delta_net_bytes(const DeltaNetConfig& d, int32_t n_folded, int32_t n_rows) {
  const double channels = d.conv_channels();
  const double kept_width = channels + 2 * d.n_value_heads;
  const double row_floats = kept_width + 2.0 * d.value_width();  // q, k, v, z, b, a; mixed
  const double state_floats = 1.0 * d.value_width() * d.key_dim + (d.conv_kernel - 1) * channels;
  return sizeof(float) * (2 * state_floats + d.conv_kernel * channels + n_rows * row_floats +
                          (n_folded + n_rows - 1) * kept_width);
}

// A row and value head: decay, what the state says for k, the correction, and what it says for q,
// 1 + 2 + 2 + 2 operations an element of the state. A folded row asks nothing for q.
double delta_net_flops(const DeltaNetConfig& d, int32_t n_folded, int32_t n_rows) {
  const double elements = 1.0 * d.value_width() * d.key_dim;
  const double taps = 2.0 * d.conv_kernel;
  return n_rows * (7 * elements + taps * d.conv_channels()) +
         n_folded * (5 * elements + taps * (d.key_width() + d.value_width()));
}

}  // namespace

KernelBench delta_net_bench(const BenchDevice& device, const DeltaNetBenchOptions& options) {
  const auto setup = std::make_shared<DeltaNetSetup>(device, options);
  const DeltaNetConfig d = setup->config.delta_net;
  const int32_t n_folded = options.n_folded;
  return {.device = setup->device.name(),
          .kernel = "fma",
          .n_rows_max = kSegmentRowsMax,
          .run = [setup](int32_t n_rows) { setup->run(n_rows); },
          .bytes = [=](int32_t n_rows) { return delta_net_bytes(d, n_folded, n_rows); },
          .flops = [=](int32_t n_rows) { return delta_net_flops(d, n_folded, n_rows); },
          .measure_flops = [setup] { return setup->device.measure_flops(); }};
}

}  // namespace slip::cpu
