#include "app/bench_product.h"

#include <nlohmann/json.hpp>

#include "app/bench_format.h"
#include "app/bench_kernels.h"
#include "app/commands.h"
#include "app/memory_purpose.h"

namespace slip {

MatrixShape parse_matrix(const std::string& text) {
  constexpr int32_t kMost = 1 << 20;
  const auto [n_out, n_in] =
      require_sizes<2>("--matrix", text, kMost, "outputs x inputs, like 17408x5120, each",
                       [](const auto&) { return true; });
  return {n_out, n_in};
}

int run_bench_product(const BenchProductOptions& options) {
  const MatrixShape& matrix = options.matrix;
  const cpu::KernelBench bench = with_memory_for("matrices to multiply by", [&] {
    return cpu::product_bench(
        {.n_threads = options.bench.n_threads, .kernels = options.bench.kernels},
        {.n_out = matrix.n_out,
         .n_in = matrix.n_in,
         .format = parse_bench_format(options.format).value(),
         .kernel = options.kernel});
  });
  return measure_kernel(
      bench, options.bench,
      {{"bench", "product"},
       {"shape", std::to_string(matrix.n_out) + "x" + std::to_string(matrix.n_in)},
       {"format", options.format}});
}

}  // namespace slip
