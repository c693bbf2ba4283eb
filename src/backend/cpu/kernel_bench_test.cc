#include "backend/cpu/kernel_bench.h"

#include <gtest/gtest.h>

#include "backend/cpu/kernels/table.h"
#include "base/cpu_features.h"

namespace slip::cpu {
namespace {

const AttentionBenchOptions kShape = {
    .n_heads = 4, .n_kv_heads = 2, .head_dim = 32, .context_tokens = 100, .capacity_tokens = 200};

TEST(AttentionBench, CountsTheCacheOnceForAllRows) {
  const KernelBench bench = attention_bench({.n_threads = 1, .kernels = "baseline"}, kShape);
  EXPECT_EQ(bench.bytes(1), 101 * 2 * 2 * 32 * 2);
  EXPECT_EQ(bench.bytes(8), 108 * 2 * 2 * 32 * 2);
}

TEST(AttentionBench, CountsTwoProductsForEveryTokenThatARowSees) {
  const KernelBench bench = attention_bench({.n_threads = 1, .kernels = "baseline"}, kShape);
  EXPECT_EQ(bench.flops(1), 4.0 * 4 * 32 * 101);
  EXPECT_EQ(bench.flops(3), 4.0 * 4 * 32 * (101 + 102 + 103));
}

TEST(AttentionBench, RunsOnEveryTableAndMeasuresItsUnit) {
  for (const KernelTable* table : kernel_tables()) {
    if (!table->supports(cpu_features())) continue;
    const KernelBench bench =
        attention_bench({.n_threads = 2, .kernels = std::string(table->name)}, kShape);
    for (const int32_t n_rows : {1, 9, 32}) bench.run(n_rows);
    EXPECT_GT(bench.measure_flops(), 1e8) << table->name;
    EXPECT_EQ(bench.device, "cpu (" + std::string(table->name) + ", 2 threads)");
  }
}

TEST(AttentionBench, NamesTheKernelThatTheShapeGets) {
  AttentionBenchOptions options = kShape;
  options.kv_type = DType::kF32;
  EXPECT_EQ(attention_bench({.n_threads = 1, .kernels = ""}, options).kernel, "fma");
}

TEST(ProductBench, CountsTheWeightsWithTheirScales) {
  const KernelBench bench =
      product_bench({.n_threads = 1, .kernels = "baseline"},
                    {.n_out = 256, .n_in = 128, .format = WeightFormat::kAffine4});
  EXPECT_EQ(bench.bytes(1), 256 * (128 / 2 + 2 * 2 * 2));
  EXPECT_EQ(bench.flops(3), 2.0 * 3 * 256 * 128);
}

TEST(ProductBench, RunsEveryFormatOnEveryTable) {
  for (const KernelTable* table : kernel_tables()) {
    if (!table->supports(cpu_features())) continue;
    for (const WeightFormat format : {WeightFormat::kAffine8, WeightFormat::kAffine4,
                                      WeightFormat::kBF16, WeightFormat::kFp8Block}) {
      const KernelBench bench = product_bench({.n_threads = 2, .kernels = std::string(table->name)},
                                              {.n_out = 256, .n_in = 128, .format = format});
      for (const int32_t n_rows : {1, 16, 32}) bench.run(n_rows);
    }
  }
}

}  // namespace
}  // namespace slip::cpu
