#include "draft/cost_surface.h"

#include <gtest/gtest.h>

namespace slip {
namespace {

// Rows as adaptive drafting produces them: mostly few, sometimes many.
constexpr int32_t kStepRows[] = {1, 4, 4, 6, 16, 1, 8, 3};

double rows_ms(const CostSurface& surface, int32_t rows) {
  return surface.step_ms({.n_rows = static_cast<double>(rows)});
}

// A machine whose steps take `ms(rows)`.
template <class Ms>
void run(CostSurface& surface, int n_steps, const Ms& ms) {
  for (int i = 0; i < n_steps; ++i) {
    const int32_t rows = kStepRows[i % 8];
    surface.observe({.n_rows = rows, .forward_ms = ms(rows)});
  }
}

// Cheap up to 4 rows, dear from 5 on: as matrix units with tiles of four rows behave.
double staircase_ms(int32_t rows) { return rows <= 4 ? 10 : 25; }

CostSurface::Figures flat(double ms) {
  CostSurface::Figures figures{.draft_token_ms = 1};
  figures.step_ms.fill(ms);
  return figures;
}

TEST(CostSurface, LearnsAStaircase) {
  CostSurface surface;
  run(surface, 300, staircase_ms);
  EXPECT_NEAR(rows_ms(surface, 1), 10, 1);
  EXPECT_NEAR(rows_ms(surface, 4), 10, 1);
  EXPECT_NEAR(rows_ms(surface, 8), 25, 2.5);
  EXPECT_NEAR(rows_ms(surface, 16), 25, 2.5);
}

TEST(CostSurface, KeepsTheShapeOfAMeasurementThatTheStepsConfirm) {
  CostSurface::Figures figures = flat(10);
  for (size_t i = 0; i < CostSurface::kKnots; ++i)
    figures.step_ms[i] = staircase_ms(CostSurface::kRows[i]);
  CostSurface surface(figures);
  run(surface, 300, staircase_ms);
  for (const int32_t rows : CostSurface::kRows) {
    EXPECT_NEAR(rows_ms(surface, rows), staircase_ms(rows), 0.1 * staircase_ms(rows)) << rows;
  }
}

TEST(CostSurface, FollowsAMachineThatSlowsDownAtAllWidthsAtOnce) {
  CostSurface surface(flat(10));
  for (int i = 0; i < 40; ++i) surface.observe({.n_rows = 4, .forward_ms = 15});
  EXPECT_NEAR(rows_ms(surface, 4), 15, 0.3);
  EXPECT_NEAR(rows_ms(surface, 32), 15, 1);  // never run since
  EXPECT_NEAR(surface.draft_ms(1, 0), 1.5, 0.1);
}

TEST(CostSurface, TellsTheNeighboursWhatAWidthHasShown) {
  CostSurface surface(flat(10));
  for (int i = 0; i < 200; ++i) {
    surface.observe({.n_rows = 1, .forward_ms = 10});
    surface.observe({.n_rows = 16, .forward_ms = 20});
  }
  EXPECT_NEAR(rows_ms(surface, 16), 20, 1);
  EXPECT_GT(rows_ms(surface, 12), 13);
  EXPECT_LT(rows_ms(surface, 2), 14);
}

TEST(CostSurface, IsHardlyMovedByOneHiccup) {
  CostSurface surface;
  run(surface, 100, staircase_ms);
  const double before = rows_ms(surface, 8);
  surface.observe({.n_rows = 8, .forward_ms = 5000});
  EXPECT_LE(rows_ms(surface, 8), 1.2 * before);
}

TEST(CostSurface, NeverHoldsThatRowsSaveTime) {
  CostSurface surface;
  run(surface, 200, [](int32_t rows) { return 30.0 - rows; });
  for (int32_t rows = 1; rows < 100; ++rows)
    EXPECT_LE(rows_ms(surface, rows), rows_ms(surface, rows + 1)) << rows;
}

TEST(CostSurface, GoesOnAtTheLastPriceBeyondTheWidestSegment) {
  CostSurface::Figures figures = flat(10);
  figures.step_ms.back() = 18;  // 24 rows: 10
  EXPECT_DOUBLE_EQ(rows_ms(CostSurface(figures), 40), 26);
}

TEST(CostSurface, ChargesContextByTheRowsOfEachSequence) {
  CostSurface::Figures figures = flat(10);
  figures.context_ms_one_row = 0.01;
  figures.context_ms_all_rows = 0.02;
  const CostSurface surface(figures);
  EXPECT_DOUBLE_EQ(surface.step_ms({.n_sequences = 1, .n_rows = 1, .context_tokens = 100}), 11);
  EXPECT_DOUBLE_EQ(surface.step_ms({.n_sequences = 1, .n_rows = 32, .context_tokens = 100}), 12);
  EXPECT_DOUBLE_EQ(surface.step_ms({.n_sequences = 4, .n_rows = 4, .context_tokens = 100}), 11);
}

TEST(CostSurface, LearnsThePriceOfADraftedToken) {
  CostSurface surface(flat(20));
  for (int i = 0; i < 100; ++i)
    surface.observe({.n_rows = 4, .n_drafts_from_model = 3, .forward_ms = 20, .draft_ms = 4.5});
  EXPECT_NEAR(surface.draft_ms(1, 0), 1.5, 0.05);
}

TEST(CostSurface, ChargesARunOfTheDraftHeadAndItsTokens) {
  CostSurface::Figures figures = flat(10);
  figures.draft_run_ms = 0.5;
  EXPECT_DOUBLE_EQ(CostSurface(figures).draft_ms(0, 0), 0);
  EXPECT_DOUBLE_EQ(CostSurface(figures).draft_ms(3, 0), 3.5);
}

TEST(CostSurface, ChargesEachDraftedTokenForTheContextItReads) {
  CostSurface::Figures figures = flat(10);
  figures.draft_context_ms = 0.002;
  EXPECT_DOUBLE_EQ(CostSurface(figures).draft_ms(3, 1000), 9);
}

TEST(CostSurface, ScalesThePriceOfContextWithThatOfTheHead) {
  CostSurface::Figures figures = flat(20);
  figures.draft_context_ms = 0.001;
  CostSurface surface(figures);
  for (int i = 0; i < 100; ++i) {
    surface.observe({.n_rows = 2,
                     .context_tokens = 1000,
                     .n_drafts_from_model = 1,
                     .forward_ms = 20,
                     .draft_ms = 4});
  }
  EXPECT_NEAR(surface.draft_ms(1, 1000), 4, 0.05);
  EXPECT_NEAR(surface.draft_ms(1, 0), 2, 0.05);
}

TEST(CostSurface, TakesTheUnitFromTheFirstStep) {
  CostSurface surface;
  surface.observe({.n_rows = 1, .forward_ms = 40});
  EXPECT_DOUBLE_EQ(rows_ms(surface, 1), 40);
  EXPECT_DOUBLE_EQ(surface.draft_ms(1, 0), 6);
}

TEST(CostSurface, RepairsFiguresThatMakeNoSense) {
  CostSurface::Figures figures = flat(10);
  figures.step_ms[3] = 4;
  figures.context_ms_one_row = -1;
  figures.draft_token_ms = 0;
  const CostSurface surface(figures);
  EXPECT_DOUBLE_EQ(rows_ms(surface, 4), 10);
  EXPECT_DOUBLE_EQ(surface.step_ms({.context_tokens = 1000}), 10);
  EXPECT_GT(surface.draft_ms(1, 0), 0);
}

TEST(CostSurface, IgnoresAStepThatTookNoTime) {
  CostSurface surface(flat(10));
  surface.observe({.n_rows = 4, .forward_ms = 0});
  EXPECT_EQ(rows_ms(surface, 4), 10);
}

}  // namespace
}  // namespace slip
