#include "app/memory_growth.h"

#include <vector>

#include <gtest/gtest.h>

namespace slip {
namespace {

// Two contexts with steps of 1 and of 8 rows; steps take `transient` and copies 10 a token.
std::vector<MemorySample> samples_of(std::vector<int64_t> transient) {
  return {{100, 1, 0, transient[0], 1000},
          {100, 8, 0, transient[1], 1000},
          {400, 1, 0, transient[2], 4000},
          {400, 8, 0, transient[3], 4000}};
}
constexpr MemoryLimits kLimits{.tolerance_bytes = 50, .cache_growth_bytes = 3000};

TEST(MemoryGrowth, ComparesStepsOfTheSameRows) {
  const std::vector<MemorySample> samples = samples_of({0, 500, 10, 530});
  EXPECT_EQ(growth(samples, &MemorySample::transient_bytes), 30);
}

TEST(MemoryGrowth, IsNoneWhereStepsTakeLess) {
  EXPECT_EQ(growth(samples_of({9, 9, 0, 0}), &MemorySample::transient_bytes), 0);
}

TEST(JudgeMemory, PassesWhatStaysWithinTheTolerance) {
  EXPECT_EQ(judge(samples_of({0, 500, 50, 550}), kLimits), MemoryVerdict::kSteady);
}

TEST(JudgeMemory, FindsStepsThatGrow) {
  EXPECT_EQ(judge(samples_of({0, 500, 0, 551}), kLimits), MemoryVerdict::kGrows);
}

TEST(JudgeMemory, DoubtsAMeasurementThatDoesNotSeeTheCopies) {
  std::vector<MemorySample> samples = samples_of({0, 0, 0, 0});
  for (MemorySample& sample : samples) sample.knock_out_bytes = 1000;
  EXPECT_EQ(judge(samples, kLimits), MemoryVerdict::kBlind);
}

}  // namespace
}  // namespace slip
