#include "backend/cpu/kernel_bench.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "backend/cpu/cpu_ops.h"
#include "backend/cpu/state_table.h"
#include "base/check.h"
#include "base/rng.h"
#include "tensor/quant.h"

namespace slip::cpu {
namespace {

constexpr int64_t kRotatedBytes = int64_t{1} << 30;  // larger than last-level caches
constexpr int32_t kLayersMax = 64;
constexpr int32_t kBenchSplits = 8;  // as the runner has

// Threads with the kernels of one table.
struct Device {
  explicit Device(const BenchDevice& device)
      : pool(device.n_threads > 0 ? device.n_threads : usable_cores()),
        table(choose(cpu_features(), device.kernels)) {}

  std::string describe() const {
    return "cpu (" + std::string(table.name) + ", " + std::to_string(pool.n_threads()) +
           (pool.n_threads() == 1 ? " thread)" : " threads)");
  }

  // All threads at once, the slowest counts: the unit may be fast on one core and slow on another.
  double measure_flops() {
    using Clock = std::chrono::steady_clock;
    std::vector<double> rates(static_cast<size_t>(pool.n_threads()));
    pool.run(pool.n_threads(), [&](int item, int) {
      const Clock::time_point start = Clock::now();
      const double flops = table.exercise();
      rates[static_cast<size_t>(item)] =
          flops / std::chrono::duration<double>(Clock::now() - start).count();
    });
    return *std::ranges::min_element(rates) * pool.n_threads();
  }

  ThreadPool pool;
  const KernelTable& table;
};

// One sequence whose cache is full of random numbers, in every layer.
struct AttentionSetup {
  AttentionSetup(const BenchDevice& bench_device, const AttentionBenchOptions& o)
      : device(bench_device),
        options(o),
        config(make_config(o)),
        states(StateLayout(config,
                           device.table.attention_for(o.kv_type, o.head_dim).format(o.head_dim)),
               1, o.capacity_tokens, o.capacity_tokens),
        state(states.open({}).value()),
        ops(config, states.layout(), states.all(),
            {.batch_rows_max = kSegmentRowsMax,
             .logit_rows_max = 1,
             .states_max = 1,
             .n_splits = kBenchSplits},
            device.pool, device.table) {
    SLIP_CHECK(states.reserve(state, o.capacity_tokens));
    fill_cache();
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
    const int64_t n_layers =
        std::clamp<int64_t>(kRotatedBytes / std::max<int64_t>(layer_bytes, 1), 2, kLayersMax);
    config.layers.resize(static_cast<size_t>(n_layers), {MixerKind::kAttention});
    check_widths(config);
    return config;
  }

  // Independent elements look the same in every order, so a plane of each kind is drawn and copied.
  void fill_cache() {
    const KvLayout& kv = states.layout().kv;
    std::vector<std::byte> plane(kv.plane_bytes());
    const size_t n = plane.size() / element_bytes(kv.format.type);
    for (size_t i = 0; i < n; ++i)
      store_float(kv.format.type, plane.data(), i, normal(1, i, Draw::kTest));
    const auto n_blocks = (options.context_tokens + kCacheBlockTokens - 1) / kCacheBlockTokens;
    for (int32_t b = 0; b < n_blocks; ++b) {
      std::byte* block = states[state].blocks[static_cast<size_t>(b)];
      for (size_t at = 0; at < kv.block_bytes(); at += plane.size())
        std::ranges::copy(plane, block + at);
    }
  }

  void run(int32_t n_rows) {
    const std::vector<TokenId> tokens(static_cast<size_t>(n_rows));
    const PassSegment segment{
        .state = state, .position = options.context_tokens, .n_rows = n_rows, .n_certain = 1};
    ops.attention({.tokens = tokens, .segments = {&segment, 1}}, {.kv_layer = next_layer});
    next_layer = (next_layer + 1) % states.layout().kv.n_layers;
  }

  Device device;
  AttentionBenchOptions options;
  ModelConfig config;
  StateTable states;
  StateId state;
  CpuOps ops;
  int32_t next_layer = 0;
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
      .device = setup->device.describe(),
      .kernel =
          std::string(setup->device.table.attention_for(options.kv_type, options.head_dim).name),
      .run = [setup](int32_t n_rows) { setup->run(n_rows); },
      .bytes = [=](int32_t n_rows) { return token_bytes * (options.context_tokens + n_rows); },
      .flops =
          [=](int32_t n_rows) { return 4.0 * options.n_heads * options.head_dim * pairs(n_rows); },
      .measure_flops = [setup] { return setup->device.measure_flops(); }};
}

}  // namespace slip::cpu
