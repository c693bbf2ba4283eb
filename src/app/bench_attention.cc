#include "app/bench_attention.h"

#include <nlohmann/json.hpp>

#include "app/bench_kernels.h"
#include "app/commands.h"
#include "app/kv_type.h"
#include "app/memory_purpose.h"
#include "base/error.h"

namespace slip {

AttentionShape parse_shape(const std::string& text) {
  constexpr int32_t kMost = 1024;  // of each number
  const auto [n_heads, n_kv_heads, head_dim] = require_sizes<3>(
      "--shape", text, kMost,
      "query heads x KV heads x head dim, like 24x4x256, query heads a multiple of KV heads, "
      "numbers",
      [](const auto& sizes) { return sizes[0] % sizes[1] == 0; });
  return {n_heads, n_kv_heads, head_dim};
}

int run_bench_attention(const BenchAttentionOptions& options) {
  const int32_t least = options.context_tokens + kSegmentRowsMax;
  if (options.capacity_tokens != 0 && options.capacity_tokens < least) {
    throw Error(ErrorCode::kInvalidArgument, "--capacity: found " +
                                                 std::to_string(options.capacity_tokens) +
                                                 ", wanted at least " + std::to_string(least) +
                                                 ", the context and the rows of a step");
  }
  const AttentionShape& shape = options.shape;
  const int32_t capacity = options.capacity_tokens == 0 ? least : options.capacity_tokens;
  const cpu::KernelBench bench =
      with_memory_for("a cache of " + std::to_string(capacity) + " tokens", [&] {
        return cpu::attention_bench(
            {.n_threads = options.bench.n_threads, .kernels = options.bench.kernels},
            {.n_heads = shape.n_heads,
             .n_kv_heads = shape.n_kv_heads,
             .head_dim = shape.head_dim,
             .context_tokens = options.context_tokens,
             .capacity_tokens = capacity,
             .kv_type = parse_kv_type(options.kv_type).value(),
             .kernel = options.kernel,
             .n_layers = options.n_layers});
      });
  return measure_kernel(
      bench, options.bench,
      {{"bench", "attention"},
       {"shape", std::to_string(shape.n_heads) + "x" + std::to_string(shape.n_kv_heads) + "x" +
                     std::to_string(shape.head_dim)},
       {"kv_type", options.kv_type},
       {"context", options.context_tokens},
       {"capacity", capacity},
       {"layers", options.n_layers}});
}

}  // namespace slip
