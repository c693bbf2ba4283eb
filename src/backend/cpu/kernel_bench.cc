#include "backend/cpu/kernel_bench.h"

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "backend/cpu/bench_setup.h"
#include "backend/cpu/cpu_ops.h"
#include "backend/cpu/cpu_states.h"
#include "base/check.h"
#include "base/error.h"
#include "base/rng.h"
#include "model/synthetic_weight.h"

namespace slip::cpu {
namespace {

// The lane of the operation that is measured, as asked.
Lanes lanes_for(const char* lane, const std::string& use) {
  return make_lanes(std::array{LaneOption{lane, use}}, /*injected=*/"");
}

// One sequence whose cache is full of random numbers, in every layer.
struct AttentionSetup {
  AttentionSetup(const BenchDevice& bench_device, const AttentionBenchOptions& o)
      : device(bench_device),
        options(o),
        config(make_config(o)),
        lanes(lanes_for("attention", o.kernel)),
        kernel(choose_attention(device.table, config.attention, o.kv_type, lanes.attention)),
        states(StateLayout(config, kernel.format(o.head_dim)),
               {.states_max = 1,
                .context_tokens_max = o.capacity_tokens,
                .cache_tokens_max = o.capacity_tokens}),
        state(states.open({}).value()),
        ops(config, states.layout(), states.all(),
            {.batch_rows_max = kSegmentRowsMax,
             .logit_rows_max = 1,
             .states_max = 1,
             .n_splits = kSplits},
            device.pool, device.table, lanes) {
    SLIP_CHECK(states.reserve(state, o.capacity_tokens));
    const auto n_blocks = (o.context_tokens + kCacheBlockTokens - 1) / kCacheBlockTokens;
    fill_cache(states.layout().kv,
               std::span(states.memory(state).blocks).first(static_cast<size_t>(n_blocks)));
    for (int32_t r = 0; r < kSegmentRowsMax; ++r) {
      for (size_t i = 0; i < ops.stride(Act::kProjected); ++i) {
        ops.row(Act::kProjected, r)[i] =
            normal(2, static_cast<uint64_t>(r) * ops.stride(Act::kProjected) + i, Draw::kTest);
      }
    }
  }

  static ModelConfig make_config(const AttentionBenchOptions& o) {
    ModelConfig config;
    config.hidden_size = config.intermediate_size = config.vocab_size = 8;
    config.rms_norm_eps = 1e-6f;
    config.attention = {.n_heads = o.n_heads,
                        .n_kv_heads = o.n_kv_heads,
                        .head_dim = o.head_dim,
                        .rope = default_rope(o.head_dim / 4, 1e7),
                        .has_output_gate = true};
    const int64_t layer_bytes = 2 * int64_t{o.context_tokens} * o.n_kv_heads * o.head_dim *
                                static_cast<int64_t>(element_bytes(o.kv_type));
    const int64_t n_layers = o.n_layers > 0 ? o.n_layers : n_rotated(layer_bytes);
    config.layers.resize(static_cast<size_t>(n_layers), {MixerKind::kAttention});
    check_widths(config);
    return config;
  }

  void run(int32_t n_rows) {
    const std::vector<TokenId> tokens(static_cast<size_t>(n_rows));
    const PassSegment segment{
        .state = state, .position = options.context_tokens, .n_rows = n_rows, .n_certain = 1};
    ops.attention({.tokens = tokens, .segments = {&segment, 1}}, {.kv_layer = next_layer});
    next_layer = (next_layer + 1) % states.layout().kv.n_layers;
  }

  BenchThreads device;
  AttentionBenchOptions options;
  ModelConfig config;
  Lanes lanes;
  const AttentionKernel& kernel;
  CpuStates states;
  StateId state;
  CpuOps ops;
  int32_t next_layer = 0;
};

// Matrices of one shape, together larger than any cache.
struct ProductSetup {
  ProductSetup(const BenchDevice& bench_device, const ProductBenchOptions& o)
      : device(bench_device),
        config(make_config(o)),
        layout(config, {}),
        ops(config, layout, {},
            {.batch_rows_max = kSegmentRowsMax,
             .logit_rows_max = kSegmentRowsMax,
             .states_max = 1,
             .n_splits = kSplits},
            device.pool, device.table, lanes_for("product", o.kernel)) {
    const WeightView shape = weight_shape(o.format, o.n_out, o.n_in);
    const size_t n_bytes = stored_bytes(shape);
    for (int64_t i = n_rotated(static_cast<int64_t>(n_bytes)); i > 0; --i) {
      bytes.emplace_back(n_bytes);
      const WeightView weight = fill_weight(shape, 0.1f, bytes.back().span());
      matrices.push_back(ops.add_matrix(weight, MatrixUse::kProduct));
    }
    weight_bytes = static_cast<double>(n_bytes);
    for (int32_t r = 0; r < kSegmentRowsMax; ++r) {
      for (int32_t i = 0; i < o.n_in; ++i)
        ops.row(Act::kNormed, r)[i] = normal(3, static_cast<uint64_t>(r * o.n_in + i), Draw::kTest);
    }
  }

  static ModelConfig make_config(const ProductBenchOptions& o) {
    ModelConfig config;
    config.hidden_size = o.n_in;
    config.intermediate_size = o.n_out;
    config.vocab_size = 8;
    check_widths(config);
    return config;
  }

  void run(int32_t n_rows) {
    ops.project(
        {.x = Act::kNormed, .weights = {&matrices[next], 1}, .out = Act::kFfn, .n_rows = n_rows});
    next = (next + 1) % matrices.size();
  }

  BenchThreads device;
  ModelConfig config;
  StateLayout layout;
  CpuOps ops;
  std::vector<ByteBuffer> bytes;
  std::vector<MatrixRef> matrices;
  double weight_bytes = 0;
  size_t next = 0;
};

}  // namespace

KernelBench attention_bench(const BenchDevice& device, const AttentionBenchOptions& options) {
  const auto setup = std::make_shared<AttentionSetup>(device, options);
  const auto pairs = [options](int32_t n_rows) {  // of a row and a token that it sees
    return static_cast<double>(n_rows) * (options.context_tokens + (n_rows + 1) / 2.0);
  };
  const double token_bytes = 2.0 * options.n_kv_heads * options.head_dim *
                             static_cast<double>(element_bytes(options.kv_type));
  return {
      .device = setup->device.name(),
      .kernel = std::string(setup->kernel.name),
      .n_rows_max =
          std::min(kSegmentRowsMax, rows_until_split_change(options.context_tokens, kSplits)),
      .run = [setup](int32_t n_rows) { setup->run(n_rows); },
      .bytes = [=](int32_t n_rows) { return token_bytes * (options.context_tokens + n_rows); },
      .flops =
          [=](int32_t n_rows) { return 4.0 * options.n_heads * options.head_dim * pairs(n_rows); },
      .measure_flops = [setup] { return setup->device.measure_flops(); }};
}

KernelBench product_bench(const BenchDevice& device, const ProductBenchOptions& options) {
  const auto setup = std::make_shared<ProductSetup>(device, options);
  return {
      .device = setup->device.name(),
      .kernel = std::string(setup->ops.product_kernel(setup->matrices.front())),
      .n_rows_max = kSegmentRowsMax,
      .run = [setup](int32_t n_rows) { setup->run(n_rows); },
      .bytes = [setup](int32_t) { return setup->weight_bytes; },
      .flops = [options](int32_t n_rows) { return 2.0 * n_rows * options.n_out * options.n_in; },
      .measure_flops = [setup] { return setup->device.measure_flops(); }};
}

}  // namespace slip::cpu
