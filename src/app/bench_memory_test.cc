#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "app/commands.h"
#include "backend/testing/random_model.h"
#include "base/testing/expect_error.h"

namespace slip {
namespace {

// A small model with a large cache, so that copies of it show after few tokens.
class BenchMemory : public testing::Test {
 protected:
  BenchMemory()
      : model_({.layers = std::vector<RandomMixer>(8, RandomMixer::kAttention),
                .n_heads = 2,
                .head_dim = 256,
                .has_draft_head = false}),
        options_{.model = {.model = model_.path().string(), .n_threads = 1, .context_tokens = 2048},
                 .rows = {1, 8}} {}

  RandomModelFolder model_;
  BenchMemoryOptions options_;
};

#if !defined(SLIP_SANITIZED)  // whose heap keeps for a while what is freed
TEST_F(BenchMemory, FindsNoStepThatGrowsAndSeesTheCopies) {
  options_.is_json = true;
  testing::internal::CaptureStdout();
  const int status = run_bench_memory(options_);
  std::istringstream out(testing::internal::GetCapturedStdout());
  EXPECT_EQ(status, 0) << out.str();
  std::vector<nlohmann::json> lines;
  for (std::string line; std::getline(out, line);) lines.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(lines.size(), 6U);  // three contexts, two numbers of rows
  EXPECT_EQ(lines[0]["cache_bytes_per_token"], 8 * 2 * 2 * 256 * 2);
  EXPECT_EQ(lines[4]["rows"], 1);
  EXPECT_LT(lines[0]["context"], lines[4]["context"]);
  EXPECT_LT(lines[4]["transient_bytes"], lines[4]["knock_out_transient_bytes"]);
}
#endif

TEST_F(BenchMemory, RefusesAContextWhoseCopiesWouldNotShow) {
  options_.model.context_tokens = 256;
  EXPECT_TRUE(test::fails_with(ErrorCode::kInvalidArgument, "--context: found 256, wanted at least",
                               [&] { run_bench_memory(options_); }));
}

}  // namespace
}  // namespace slip
