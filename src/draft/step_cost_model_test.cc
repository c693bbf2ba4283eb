#include "draft/step_cost_model.h"

#include <gtest/gtest.h>

namespace slip {
namespace {

// Rows as adaptive drafting produces them: mostly few, sometimes many.
constexpr int32_t kRows[] = {1, 4, 4, 5, 16, 1, 8, 3};

void run(StepCostModel& model, int n_steps, double step_ms, double row_ms) {
  for (int i = 0; i < n_steps; ++i) {
    const int32_t rows = kRows[i % 8];
    model.observe({.n_rows = rows, .forward_ms = step_ms + row_ms * (rows - 1)});
  }
}

TEST(StepCostModel, LearnsAStraightLine) {
  for (const double row_ms : {0.0, 0.5, 4.0}) {
    StepCostModel model;
    run(model, 100, 20, row_ms);
    EXPECT_NEAR(model.row_ms(), row_ms, 0.1) << row_ms;
    EXPECT_NEAR(model.step_ms(1), 20, 0.6) << row_ms;
    EXPECT_NEAR(model.step_ms(32), 20 + 31 * row_ms, 2.5) << row_ms;
  }
}

TEST(StepCostModel, FollowsAMachineThatSlowsDown) {
  StepCostModel model;
  run(model, 100, 20, 0.5);
  run(model, 100, 30, 2);
  EXPECT_NEAR(model.step_ms(1), 30, 1);
  EXPECT_NEAR(model.row_ms(), 2, 0.2);
}

TEST(StepCostModel, TakesARowForATwentiethOfAStepUntilRowsVary) {
  StepCostModel model;
  for (int i = 0; i < 50; ++i) model.observe({.n_rows = 1, .forward_ms = 40});
  EXPECT_DOUBLE_EQ(model.row_ms(), 2);
}

TEST(StepCostModel, IsHardlyMovedByOneHiccup) {
  StepCostModel model;
  run(model, 100, 20, 0.5);
  const double before = model.step_ms(8);
  model.observe({.n_rows = 8, .forward_ms = 5000});
  EXPECT_LE(model.step_ms(8), 1.1 * before);
}

TEST(StepCostModel, NeverHoldsThatRowsSaveTime) {
  StepCostModel model;
  for (int i = 0; i < 100; ++i)
    model.observe({.n_rows = kRows[i % 8], .forward_ms = 30.0 - kRows[i % 8]});
  EXPECT_GE(model.row_ms(), 0);
}

TEST(StepCostModel, NeverHoldsThatAStepWithoutRowsHasNegativeCost) {
  StepCostModel model;
  for (int i = 0; i < 100; ++i)
    model.observe({.n_rows = kRows[i % 8], .forward_ms = 1.0 * kRows[i % 8] * kRows[i % 8]});
  EXPECT_GE(model.step_ms(0), -1e-9);  // rounding
}

TEST(StepCostModel, LearnsThePriceOfADraftedToken) {
  StepCostModel model;
  for (int i = 0; i < 5; ++i) {
    model.observe({.n_rows = 4, .n_drafts_from_model = 3, .forward_ms = 20, .draft_ms = 4.5});
  }
  EXPECT_DOUBLE_EQ(model.draft_ms(), 1.5);
}

TEST(StepCostModel, IgnoresAStepThatTookNoTime) {
  StepCostModel model;
  run(model, 50, 20, 0.5);
  const double before = model.step_ms(4);
  model.observe({.n_rows = 4, .forward_ms = 0});
  EXPECT_EQ(model.step_ms(4), before);
}

}  // namespace
}  // namespace slip
