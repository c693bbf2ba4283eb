#include "backend/cpu/delta_net_bench.h"

#include <gtest/gtest.h>

#include "backend/cpu/kernels/table.h"
#include "base/cpu_features.h"
#include "base/testing/expect_error.h"

namespace slip::cpu {
namespace {

constexpr DeltaNetBenchOptions kSmallNet = {
    .n_key_heads = 2, .n_value_heads = 4, .key_dim = 16, .value_dim = 32};
constexpr int kChannels = 2 * 2 * 16 + 4 * 32;
constexpr int kStateFloats = 4 * 16 * 32;

KernelBench small_bench(int32_t n_folded) {
  DeltaNetBenchOptions options = kSmallNet;
  options.n_folded = n_folded;
  return delta_net_bench({.n_threads = 1, .kernels = "baseline"}, options);
}

TEST(DeltaNetBench, CountsTheStateTwiceForAllRows) {
  const KernelBench bench = small_bench(0);
  const double row = kChannels + 2 * 4 + 2 * 4 * 32;  // q, k, v, b, a; z and what comes out
  const double kept = kChannels + 2 * 4;
  EXPECT_EQ(bench.bytes(1), 4 * (2 * (kStateFloats + 3 * kChannels) + 4 * kChannels + row));
  EXPECT_EQ(bench.bytes(9) - bench.bytes(1), 4 * 8 * (row + kept));
}

TEST(DeltaNetBench, CountsWhatWaitsToBeFolded) {
  const KernelBench none = small_bench(0);
  const KernelBench some = small_bench(5);
  EXPECT_EQ(some.bytes(3) - none.bytes(3), 4.0 * 5 * (kChannels + 2 * 4));
  EXPECT_EQ(some.flops(3) - none.flops(3), 5.0 * (5 * kStateFloats + 2 * 4 * (2 * 16 + 4 * 32)));
}

TEST(DeltaNetBench, CountsSevenOperationsForAnElementOfTheState) {
  EXPECT_EQ(small_bench(0).flops(3), 3.0 * (7 * kStateFloats + 2 * 4 * kChannels));
}

TEST(DeltaNetBench, RunsOnEveryTable) {
  for (const KernelTable* table : kernel_tables()) {
    if (!table->supports(cpu_features())) continue;
    DeltaNetBenchOptions options = kSmallNet;
    options.n_folded = 31;
    const KernelBench bench =
        delta_net_bench({.n_threads = 2, .kernels = std::string(table->name)}, options);
    for (const int32_t n_rows : {1, 9, 32}) bench.run(n_rows);
    EXPECT_EQ(bench.device, "cpu (" + std::string(table->name) + ", 2 threads)");
  }
}

TEST(DeltaNetBench, RefusesAValueSizeThatNoKernelCan) {
  DeltaNetBenchOptions options = kSmallNet;
  options.value_dim = 24;
  EXPECT_TRUE(test::fails_with(ErrorCode::kUnsupportedModel, "linear_value_head_dim is 24", [&] {
    delta_net_bench({.n_threads = 1, .kernels = "baseline"}, options);
  }));
}

}  // namespace
}  // namespace slip::cpu
