#include <gtest/gtest.h>

#include "app/commands.h"
#include "base/testing/expect_error.h"

namespace slip {
namespace {

// A model that fits a test's time has no published shape: the command's own part is what it
// refuses, backend/cpu/step_bench_test.cc runs steps.

TEST(BenchStep, RefusesWhatDoesNotFitInMemory) {
  // A cache of 40 KiB a token.
  const BenchStepOptions options{
      .model_shape = "qwen3.6-35b-a3b", .format = "bf16", .context_tokens = 262048};
  EXPECT_TRUE(test::fails_with(ErrorCode::kInsufficientMemory,
                               "memory for qwen3.6-35b-a3b in bf16 with 262048 tokens: found",
                               [&] { run_bench_step(options); }));
}

TEST(BenchStep, RefusesAContextThatLeavesNoRoomForItsSteps) {
  EXPECT_TRUE(test::fails_with(ErrorCode::kInvalidArgument,
                               "--context: found 262049, wanted at most 262048",
                               [] { run_bench_step({.context_tokens = 262049}); }));
}

TEST(BenchStep, RefusesAShapeThatItDoesNotKnow) {
  EXPECT_TRUE(test::fails_with(ErrorCode::kInvalidArgument, "--model-shape: found \"gpt\"",
                               [] { run_bench_step({.model_shape = "gpt"}); }));
}

}  // namespace
}  // namespace slip
