#include "app/bench_product.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "app/commands.h"
#include "base/testing/expect_error.h"

namespace slip {
namespace {

TEST(ParseMatrix, TakesOutputsAndInputs) {
  const MatrixShape matrix = parse_matrix("17408x5120");
  EXPECT_EQ(matrix.n_out, 17408);
  EXPECT_EQ(matrix.n_in, 5120);
}

TEST(ParseMatrix, RefusesWhatIsNone) {
  for (const char* text : {"", "8", "8x", "8x8x", "0x8", "8x0", "8x8 ", "8x-8", "8x1048577"}) {
    EXPECT_TRUE(test::fails_with(ErrorCode::kInvalidArgument, "--matrix: found", [&] {
      parse_matrix(text);
    })) << text;
  }
}

BenchProductOptions small_product() {
  return {.bench = {.kernels = "baseline", .n_threads = 1, .rows = {2}, .seconds = 0},
          .matrix = {.n_out = 128, .n_in = 64}};
}

TEST(BenchProduct, NamesFormatAndShapeInItsLine) {
  BenchProductOptions options = small_product();
  options.format = "q4";
  options.bench.is_json = true;
  testing::internal::CaptureStdout();
  EXPECT_EQ(run_bench_product(options), 0);
  const auto line = nlohmann::json::parse(testing::internal::GetCapturedStdout());
  EXPECT_EQ(line["bench"], "product");
  EXPECT_EQ(line["format"], "q4");
  EXPECT_EQ(line["shape"], "128x64");
  EXPECT_EQ(line["rows"], 2);
}

TEST(BenchProduct, RefusesAWidthThatGroupsDoNotDivide) {
  BenchProductOptions options = small_product();
  options.matrix.n_in = 72;
  EXPECT_TRUE(test::fails_with(ErrorCode::kUnsupportedModel,
                               "input width is 72, expected a multiple of 64",
                               [&] { run_bench_product(options); }));
}

}  // namespace
}  // namespace slip
