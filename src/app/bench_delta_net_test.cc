#include "app/bench_delta_net.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "app/commands.h"
#include "base/testing/expect_error.h"

namespace slip {
namespace {

TEST(ParseDeltaNetShape, TakesHeadsAndTheirSizes) {
  const DeltaNetShape shape = parse_delta_net_shape("16x48x128x64");
  EXPECT_EQ(shape.n_key_heads, 16);
  EXPECT_EQ(shape.n_value_heads, 48);
  EXPECT_EQ(shape.key_dim, 128);
  EXPECT_EQ(shape.value_dim, 64);
}

TEST(ParseDeltaNetShape, RefusesWhatIsNone) {
  for (const char* text : {"", "16x48x128", "16x48x128x", "16x48x128x128x", "0x48x128x128",
                           "16x40x128x128", "16x48x128x1025"}) {
    EXPECT_TRUE(test::fails_with(ErrorCode::kInvalidArgument, "--shape: found", [&] {
      parse_delta_net_shape(text);
    })) << text;
  }
}

TEST(BenchDeltaNet, NamesShapeAndFoldInItsLine) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(
      run_bench_delta_net(
          {.bench =
               {.kernels = "baseline", .n_threads = 1, .rows = {2}, .seconds = 0, .is_json = true},
           .shape = {.n_key_heads = 1, .n_value_heads = 2, .key_dim = 16, .value_dim = 32},
           .n_folded = 3}),
      0);
  const auto line = nlohmann::json::parse(testing::internal::GetCapturedStdout());
  EXPECT_EQ(line["bench"], "delta-net");
  EXPECT_EQ(line["shape"], "1x2x16x32");
  EXPECT_EQ(line["folded"], 3);
  EXPECT_EQ(line["kernel"], "fma");
  EXPECT_EQ(line["rows"], 2);
}

}  // namespace
}  // namespace slip
