#include "sample/divergence.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace slip {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNotANumber = std::numeric_limits<float>::quiet_NaN();

float ln(double x) { return static_cast<float>(std::log(x)); }

TEST(NegativeLogLikelihood, IsTheLogarithmOfTheProbability) {
  const std::vector<float> logits = {ln(0.5), ln(0.25), ln(0.25)};
  EXPECT_NEAR(negative_log_likelihood(logits, TokenId{0}), std::log(2.0), 1e-6);
  EXPECT_NEAR(negative_log_likelihood(logits, TokenId{2}), std::log(4.0), 1e-6);
}

TEST(NegativeLogLikelihood, DoesNotDependOnAShiftOfTheLogits) {
  const std::vector<float> logits = {1000.0f, 1001.0f};
  EXPECT_NEAR(negative_log_likelihood(logits, TokenId{1}), std::log1p(std::exp(-1.0)), 1e-6);
}

TEST(NegativeLogLikelihood, IsInfiniteForAMaskedToken) {
  EXPECT_EQ(negative_log_likelihood(std::vector<float>{0.0f, -kInfinity}, TokenId{1}), kInfinity);
}

TEST(NegativeLogLikelihood, IsNanForARowThatIsNotUsable) {
  EXPECT_TRUE(
      std::isnan(negative_log_likelihood(std::vector<float>{0.0f, kNotANumber}, TokenId{0})));
}

TEST(KlDivergence, MatchesASumDoneByHand) {
  const std::vector<float> p = {ln(0.5), ln(0.25), ln(0.25)};
  const std::vector<float> q = {ln(0.25), ln(0.5), ln(0.25)};
  // 0.5 ln 2 - 0.25 ln 2
  EXPECT_NEAR(kl_divergence(p, q), 0.25 * std::log(2.0), 1e-6);
}

TEST(KlDivergence, TakesItsWeightsFromTheFirst) {
  const std::vector<float> p = {ln(0.9), ln(0.1)};
  const std::vector<float> q = {ln(0.5), ln(0.5)};
  EXPECT_NEAR(kl_divergence(p, q), 0.9 * std::log(1.8) + 0.1 * std::log(0.2), 1e-6);
  EXPECT_NEAR(kl_divergence(q, p), 0.5 * std::log(0.5 / 0.9) + 0.5 * std::log(5.0), 1e-6);
}

TEST(KlDivergence, IsZeroForAShiftedRow) {
  EXPECT_NEAR(kl_divergence(std::vector<float>{1, 2, 3}, std::vector<float>{5, 6, 7}), 0, 1e-12);
}

TEST(KlDivergence, LeavesOutWhatTheFirstExcludes) {
  EXPECT_NEAR(kl_divergence(std::vector<float>{0.0f, -kInfinity}, std::vector<float>{0.0f, 0.0f}),
              std::log(2.0), 1e-12);
}

TEST(KlDivergence, IsInfiniteWhereTheSecondExcludesMore) {
  EXPECT_EQ(kl_divergence(std::vector<float>{0.0f, 0.0f}, std::vector<float>{0.0f, -kInfinity}),
            kInfinity);
}

TEST(KlDivergence, IsNanWhereEitherRowIsNotUsable) {
  const std::vector<float> good = {0.0f, 1.0f};
  const std::vector<float> bad = {0.0f, kNotANumber};
  EXPECT_TRUE(std::isnan(kl_divergence(good, bad)));
  EXPECT_TRUE(std::isnan(kl_divergence(bad, good)));
}

TEST(DivergenceStats, CountsRowsWithTheSameChoice) {
  DivergenceStats stats;
  const std::vector<float> a = {0, 1}, b = {1, 0};
  stats.add(a, a);
  stats.add(a, a);
  stats.add(a, a);
  stats.add(a, b);
  EXPECT_EQ(stats.summary().n_rows, 4);
  EXPECT_DOUBLE_EQ(stats.summary().agreement, 0.75);
}

TEST(DivergenceStats, OrdersTheValuesForPercentileAndMaximum) {
  DivergenceStats stats;
  const std::vector<float> even = {0, 0};
  // 200 rows, the divergence of row i grows with i.
  for (int i = 0; i < 200; ++i)
    stats.add(even, std::vector<float>{0, 0.01f * static_cast<float>(i)});
  const auto kl = [&](int i) {
    return kl_divergence(even, std::vector<float>{0, 0.01f * static_cast<float>(i)});
  };
  EXPECT_NEAR(stats.summary().kl_p99, kl(197), 1e-6);  // 198 of 200 do not exceed it
  EXPECT_NEAR(stats.summary().kl_max, kl(199), 1e-6);
}

TEST(DivergenceStats, AveragesOverRows) {
  DivergenceStats stats;
  const std::vector<float> a = {0, 0}, b = {0, 2};
  stats.add(a, a);
  stats.add(a, b);
  EXPECT_NEAR(stats.summary().kl_mean, kl_divergence(a, b) / 2, 1e-7);
}

TEST(DivergenceStats, LetNoBadRowPassForAGoodOne) {
  DivergenceStats stats;
  const std::vector<float> good = {0, 1};
  stats.add(good, good);
  stats.add(good, std::vector<float>{kNotANumber, 0});
  EXPECT_TRUE(std::isnan(stats.summary().kl_mean));
  EXPECT_TRUE(std::isnan(stats.summary().kl_max));
  EXPECT_DOUBLE_EQ(stats.summary().agreement, 0.5);
}

}  // namespace
}  // namespace slip
