#include "backend/cpu/kernel_bench.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "backend/cpu/cpu_ops.h"
#include "backend/cpu/state_table.h"
#include "base/check.h"
#include "base/error.h"
#include "base/rng.h"
#include "tensor/quant.h"

namespace slip::cpu {
namespace {

constexpr int64_t kRotatedBytes = int64_t{1} << 30;  // larger than last-level caches

// Buffers of that size to go round.
int64_t n_rotated(int64_t n_bytes) {
  constexpr int64_t kMost = 64;  // of something small
  return std::clamp<int64_t>(kRotatedBytes / std::max<int64_t>(n_bytes, 1), 2, kMost);
}

// Threads with the kernels of one table.
struct Device {
  Device(const BenchDevice& device, const char* lane)
      : pool(device.n_threads > 0 ? device.n_threads : usable_cores()),
        table(choose(cpu_features(), device.kernels)),
        lanes(make_lanes(std::array{LaneOption{lane, device.kernel}}, /*injected=*/"")) {}

  std::string name() const { return device_name(table.name, pool.n_threads()); }

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
  Lanes lanes;
};

// One sequence whose cache is full of random numbers, in every layer.
struct AttentionSetup {
  AttentionSetup(const BenchDevice& bench_device, const AttentionBenchOptions& o)
      : device(bench_device, "attention"),
        options(o),
        config(make_config(o)),
        kernel(choose_attention(device.table, config.attention, o.kv_type, device.lanes.attention)),
        states(StateLayout(config, kernel.format(o.head_dim)), 1, o.capacity_tokens,
               o.capacity_tokens),
        state(states.open({}).value()),
        ops(config, states.layout(), states.all(),
            {.batch_rows_max = kSegmentRowsMax,
             .logit_rows_max = 1,
             .states_max = 1,
             .n_splits = kSplits},
            device.pool, device.table, device.lanes) {
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
    const int64_t n_layers = o.n_layers > 0 ? o.n_layers : n_rotated(layer_bytes);
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
  const AttentionKernel& kernel;
  StateTable states;
  StateId state;
  CpuOps ops;
  int32_t next_layer = 0;
};

// Matrices of one shape, together larger than any cache.
struct ProductSetup {
  ProductSetup(const BenchDevice& bench_device, const ProductBenchOptions& o)
      : device(bench_device, "product"),
        config(make_config(o)),
        layout(config, {}),
        ops(config, layout, {},
            {.batch_rows_max = kSegmentRowsMax,
             .logit_rows_max = kSegmentRowsMax,
             .states_max = 1,
             .n_splits = kSplits},
            device.pool, device.table, device.lanes) {
    WeightView view = shape_of(o);
    const auto n_matrices = static_cast<size_t>(n_rotated(static_cast<int64_t>(view.n_bytes())));
    for (size_t i = 0; i < n_matrices; ++i) {
      bytes.push_back(random_weight(view));
      matrices.push_back(ops.add_matrix(view, MatrixUse::kProduct));
    }
    weight_bytes = static_cast<double>(view.n_bytes());
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

  static WeightView shape_of(const ProductBenchOptions& o) {
    constexpr int32_t kGroup = 64;  // what MLX quantises in
    WeightView view{.format = o.format, .n_out = o.n_out, .n_in = o.n_in};
    const bool is_affine = affine_format(code_bits(o.format)) == o.format;
    if (is_affine && o.n_in % kGroup != 0) {
      throw Error(ErrorCode::kUnsupportedModel,
                  "input width is " + std::to_string(o.n_in) + ", expected a multiple of " +
                      std::to_string(kGroup) + ", the group of an affine format");
    }
    if (is_affine) view.group_size = kGroup;
    if (o.format == WeightFormat::kFp8Block) view.group_size = kFp8BlockColumns;
    return view;
  }

  // Codes of any value, scales of about 0.01; elements of plain formats are small numbers.
  static ByteBuffer random_weight(WeightView& view) {
    const size_t n_scales = view.n_groups() * view.n_scale_rows() * sizeof(BFloat16);
    const size_t n_codes = view.row_bytes() * static_cast<size_t>(view.n_out);
    ByteBuffer bytes(n_codes + 2 * n_scales);
    auto* words = reinterpret_cast<uint32_t*>(bytes.data());
    uint64_t state = 1;
    for (size_t i = 0; i < n_codes / sizeof(uint32_t); ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      const auto random = static_cast<uint32_t>(state >> 32);
      // BF16 from 0.5 to 1, E4M3 below 2: no infinity, no NaN, nothing that takes a trap.
      words[i] = view.group_size == 0                     ? (random & 0x807F807Fu) | 0x3F003F00u
                 : view.format == WeightFormat::kFp8Block ? random & 0xBFBFBFBFu
                                                          : random;
    }
    for (size_t i = 0; i < 2 * n_scales / sizeof(BFloat16); ++i) {
      store_float(DType::kBF16, bytes.data() + n_codes, i,
                  0.01f + 1e-4f * static_cast<float>(i % 7));
    }
    view.data = bytes.data();
    if (n_scales > 0) view.scales = bytes.data() + n_codes;
    if (n_scales > 0 && view.format != WeightFormat::kFp8Block)
      view.biases = bytes.data() + n_codes + n_scales;
    return bytes;
  }

  void run(int32_t n_rows) {
    ops.project(
        {.x = Act::kNormed, .weights = {&matrices[next], 1}, .out = Act::kFfn, .n_rows = n_rows});
    next = (next + 1) % matrices.size();
  }

  Device device;
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
