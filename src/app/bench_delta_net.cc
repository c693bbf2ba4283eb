#include "app/bench_delta_net.h"

#include <nlohmann/json.hpp>

#include "app/bench_kernels.h"
#include "app/commands.h"
#include "app/memory_purpose.h"
#include "backend/cpu/delta_net_bench.h"

namespace slip {

DeltaNetShape parse_delta_net_shape(const std::string& text) {
  constexpr int32_t kMost = 1024;  // of each number
  const auto [n_key_heads, n_value_heads, key_dim, value_dim] = require_sizes<4>(
      "--shape", text, kMost,
      "key heads x value heads x key dim x value dim, like 16x48x128x128, value heads a multiple "
      "of key heads, numbers",
      [](const auto& sizes) { return sizes[1] % sizes[0] == 0; });
  return {n_key_heads, n_value_heads, key_dim, value_dim};
}

int run_bench_delta_net(const BenchDeltaNetOptions& options) {
  const DeltaNetShape& shape = options.shape;
  const cpu::KernelBench bench = with_memory_for("recurrent states", [&] {
    return cpu::delta_net_bench(
        {.n_threads = options.bench.n_threads, .kernels = options.bench.kernels},
        {.n_key_heads = shape.n_key_heads,
         .n_value_heads = shape.n_value_heads,
         .key_dim = shape.key_dim,
         .value_dim = shape.value_dim,
         .n_folded = options.n_folded});
  });
  return measure_kernel(
      bench, options.bench,
      {{"bench", "delta-net"},
       {"shape", std::to_string(shape.n_key_heads) + "x" + std::to_string(shape.n_value_heads) +
                     "x" + std::to_string(shape.key_dim) + "x" + std::to_string(shape.value_dim)},
       {"folded", options.n_folded}});
}

}  // namespace slip
