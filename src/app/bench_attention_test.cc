#include "app/bench_attention.h"

#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "app/commands.h"
#include "base/testing/expect_error.h"

namespace slip {
namespace {

TEST(ParseShape, TakesHeadsAndTheirSize) {
  const AttentionShape shape = parse_shape("24x4x256");
  EXPECT_EQ(shape.n_heads, 24);
  EXPECT_EQ(shape.n_kv_heads, 4);
  EXPECT_EQ(shape.head_dim, 256);
}

TEST(ParseShape, RefusesWhatIsNone) {
  for (const char* text : {"", "24", "24x4", "24x4x", "24x4x256x", "24x4x256 ", "x4x256", "0x4x256",
                           "24x0x256", "24x5x256", "24x4x1025", "-24x4x256", "24,4,256"}) {
    EXPECT_TRUE(test::fails_with(ErrorCode::kInvalidArgument, "--shape: found", [&] {
      parse_shape(text);
    })) << text;
  }
}

BenchAttentionOptions small_options() {
  return {.bench = {.kernels = "baseline", .n_threads = 1, .rows = {1, 3}, .seconds = 0},
          .shape = {.n_heads = 2, .n_kv_heads = 1, .head_dim = 16},
          .context_tokens = 100};
}

std::vector<nlohmann::json> lines_of(BenchAttentionOptions options) {
  options.bench.is_json = true;
  testing::internal::CaptureStdout();
  EXPECT_EQ(run_bench_attention(options), 0);
  std::istringstream out(testing::internal::GetCapturedStdout());
  std::vector<nlohmann::json> lines;
  for (std::string line; std::getline(out, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

TEST(BenchAttention, PrintsALineForEveryNumberOfRows) {
  const auto lines = lines_of(small_options());
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0]["bench"], "attention");
  EXPECT_EQ(lines[0]["shape"], "2x1x16");
  EXPECT_EQ(lines[0]["context"], 100);
  EXPECT_EQ(lines[0]["device"], "cpu (baseline, 1 thread)");
  EXPECT_EQ(lines[0]["kernel"], "fma");
  EXPECT_EQ(lines[0]["rows"], 1);
  EXPECT_EQ(lines[1]["rows"], 3);
}

TEST(BenchAttention, ComparesWithTheSlowerOfTheTwoLimits) {
  for (const nlohmann::json& line : lines_of(small_options())) {
    const double read_ms =
        line["bytes"].get<double>() / line["read_gb_per_second"].get<double>() / 1e6;
    const double multiply_ms =
        line["flops"].get<double>() / line["matrix_gflops"].get<double>() / 1e6;
    EXPECT_NEAR(line["floor_ms"], std::max(read_ms, multiply_ms), 1e-9);
    EXPECT_NEAR(line["share_of_floor"].get<double>() * line["ms_median"].get<double>(),
                line["floor_ms"], 1e-9);
    EXPECT_LE(line["ms_min"], line["ms_median"]);
  }
}

TEST(BenchAttention, RefusesACapacityThatDoesNotHoldTheRows) {
  BenchAttentionOptions options = small_options();
  options.capacity_tokens = 131;
  EXPECT_TRUE(test::fails_with(ErrorCode::kInvalidArgument,
                               "--capacity: found 131, wanted at least 132",
                               [&] { run_bench_attention(options); }));
}

TEST(BenchAttention, RefusesRowsBeyondAChangeOfSplits) {
  BenchAttentionOptions options = small_options();
  options.context_tokens = 510;
  EXPECT_TRUE(test::fails_with(ErrorCode::kInvalidArgument, "--rows: found 3, wanted at most 2",
                               [&] { run_bench_attention(options); }));
}

TEST(BenchAttention, RefusesADeviceThatIsNotThere) {
  BenchAttentionOptions options = small_options();
  options.bench.device = "abacus";
  EXPECT_TRUE(test::fails_with(ErrorCode::kInvalidArgument, "--device: found \"abacus\"",
                               [&] { run_bench_attention(options); }));
}

TEST(BenchAttention, RefusesAHeadSizeThatNoKernelCan) {
  BenchAttentionOptions options = small_options();
  options.shape.head_dim = 24;
  EXPECT_TRUE(test::fails_with(ErrorCode::kUnsupportedModel, "head_dim is 24",
                               [&] { run_bench_attention(options); }));
}

}  // namespace
}  // namespace slip
