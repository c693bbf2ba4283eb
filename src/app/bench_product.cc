#include "app/bench_product.h"

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "app/bench_kernels.h"
#include "app/commands.h"
#include "app/memory_purpose.h"
#include "base/error.h"
#include "base/json.h"

namespace slip {

namespace {

struct Format {
  const char* name;
  WeightFormat format;
};
constexpr Format kFormats[] = {{"q8", WeightFormat::kAffine8},
                               {"q4", WeightFormat::kAffine4},
                               {"bf16", WeightFormat::kBF16},
                               {"fp8", WeightFormat::kFp8Block}};

const Format* find_format(const std::string& name) {
  const auto* found = std::ranges::find(kFormats, name, &Format::name);
  return found == std::end(kFormats) ? nullptr : found;
}

}  // namespace

MatrixShape parse_matrix(const std::string& text) {
  constexpr int32_t kMost = 1 << 20;
  const std::optional<std::array<int32_t, 2>> sizes = parse_sizes<2>(text, kMost);
  if (sizes) return {(*sizes)[0], (*sizes)[1]};
  throw Error(ErrorCode::kInvalidArgument,
              "--matrix: found " + quote(text) +
                  ", wanted outputs x inputs, like 17408x5120, each up to " +
                  std::to_string(kMost));
}

CLI::Validator product_format() {
  return CLI::Validator(
      [](std::string& text) {
        return find_format(text) ? "" : "found " + quote(text) + ", wanted q8, q4, bf16 or fp8";
      },
      "");
}

int run_bench_product(const BenchProductOptions& options) {
  const MatrixShape& matrix = options.matrix;
  const cpu::KernelBench bench = with_memory_for("matrices to multiply by", [&] {
    return cpu::product_bench({.n_threads = options.bench.n_threads,
                               .kernels = options.bench.kernels,
                               .kernel = options.bench.kernel},
                              {.n_out = matrix.n_out,
                               .n_in = matrix.n_in,
                               .format = find_format(options.format)->format});
  });
  return measure_kernel(
      bench, options.bench,
      {{"bench", "product"},
       {"shape", std::to_string(matrix.n_out) + "x" + std::to_string(matrix.n_in)},
       {"format", options.format}});
}

}  // namespace slip
