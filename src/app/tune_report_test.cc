#include "app/tune_report.h"

#include <gtest/gtest.h>

namespace slip {
namespace {

// Steps of 10 ms and 1 ms for each further row; a drafted token costs 2 ms, a token of context
// 0.01 ms in narrow segments and 0.02 ms in wide ones.
CostSurface sample_surface() {
  CostSurface::Figures figures{
      .context_ms_one_row = 0.01, .context_ms_all_rows = 0.02, .draft_token_ms = 2};
  for (size_t i = 0; i < CostSurface::kKnots; ++i)
    figures.step_ms[i] = 10 + CostSurface::kRows[i] - 1;
  return CostSurface(figures);
}

TEST(BreakEvenShare, CountsRowsAndDraftedTokens) {
  EXPECT_NEAR(break_even_share(sample_surface(), 4, 0, /*from_head=*/false), 0.1, 1e-9);
  EXPECT_NEAR(break_even_share(sample_surface(), 4, 0, /*from_head=*/true), 0.3, 1e-9);
}

TEST(BreakEvenShare, SeesThatContextMakesWideSegmentsDearer) {
  // 32 rows: 41 + 20 ms beside 10 + 10 ms.
  EXPECT_NEAR(break_even_share(sample_surface(), 32, 1000, /*from_head=*/false),
              (61.0 / 20 - 1) / 31, 1e-9);
}

TEST(BestFixedDepth, WeighsTokensAgainstTime) {
  EXPECT_EQ(best_fixed_depth(sample_surface(), 0.1, 0).n_tokens, 0);
  EXPECT_EQ(best_fixed_depth(sample_surface(), 0.1, 0).speedup, 1);
  const FixedDepth best = best_fixed_depth(sample_surface(), 0.5, 0);
  EXPECT_EQ(best.n_tokens, 1);  // 1.5 / 13 beside 1.75 / 16
  EXPECT_NEAR(best.speedup, 15.0 / 13, 1e-9);
  EXPECT_GT(best_fixed_depth(sample_surface(), 0.9, 0).n_tokens, 3);
}

}  // namespace
}  // namespace slip
