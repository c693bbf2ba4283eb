#include "backend/cpu/step_bench.h"

#include <gtest/gtest.h>

#include "backend/cpu/kernels/table.h"
#include "base/cpu_features.h"
#include "base/testing/expect_error.h"
#include "model/testing/small_config.h"

namespace slip::cpu {
namespace {

StepBenchOptions small_step() {
  return {.model = {.config = test::small_config()}, .context_tokens = 1000};
}

const BenchDevice kOneThread{.n_threads = 1, .kernels = "baseline"};
constexpr double kExpertBytes = 2 * 3 * 2 * 64 * 128;  // of both layers, 16 bits
constexpr double kTokenBytes = 2 * 2 * 32;             // key and value of the attention layer

TEST(StepBench, CountsWeightsCacheAndStatesOfOneRow) {
  const double matrices =
      2.0 * (256 * 128 +                            // head
             (2 * 64 + 128 + 128 + 4 + 4) * 128 +   // qkv, z, b, a: 2 key, 4 value heads of 32
             128 * 128 +                            // out of the delta net
             (2 * 64 + 32 + 32) * 128 + 128 * 64 +  // q with gate, k, v, out
             2 * 4 * 128);                          // routers
  const double states = 2 * 4 * 4 * 32 * 32;
  EXPECT_EQ(step_bench(kOneThread, small_step()).bytes(1),
            matrices + kExpertBytes + 1001 * kTokenBytes + states);
}

TEST(StepBench, CountsTheExpertsThatRowsChooseTogether) {
  const KernelBench bench = step_bench(kOneThread, small_step());
  EXPECT_NEAR(bench.bytes(2) - bench.bytes(1), kTokenBytes + 0.75 * kExpertBytes, 1e-6);
  EXPECT_NEAR(bench.bytes(32) - bench.bytes(1), 31 * kTokenBytes + 3 * kExpertBytes,
              1e-3 * kExpertBytes);
}

TEST(StepBench, RunsOnEveryTableForLongerThanAStateDrifts) {
  for (const KernelTable* table : kernel_tables()) {
    if (!table->supports(cpu_features())) continue;
    const KernelBench bench =
        step_bench({.n_threads = 2, .kernels = std::string(table->name)}, small_step());
    for (int i = 0; i < 150; ++i) {
      const int32_t n_rows = 1 + i % bench.n_rows_max;
      bench.prepare(n_rows);
      bench.run(n_rows);
    }
    EXPECT_EQ(bench.kernel, table->name);
  }
}

TEST(StepBench, EndsRowsWhereAttentionSplitsTheCacheOtherwise) {
  StepBenchOptions options = small_step();
  options.context_tokens = 1020;  // the split changes behind 1024
  EXPECT_EQ(step_bench(kOneThread, options).n_rows_max, 4);
}

TEST(StepBench, ForetellsMoreThanTheModelAndItsContext) {
  const StepBenchOptions options = small_step();
  EXPECT_GT(step_bench_bytes(options),
            synthetic_bytes(options.model) + static_cast<int64_t>(1000 * kTokenBytes));
}

TEST(StepBench, RefusesAContextThatTheModelDoesNotHave) {
  StepBenchOptions options = small_step();
  options.context_tokens = 4096;
  EXPECT_TRUE(test::fails_with(ErrorCode::kInvalidArgument, "context tokens: found 4192",
                               [&] { step_bench(kOneThread, options); }));
}

}  // namespace
}  // namespace slip::cpu
