#include "draft/survival.h"

#include <gtest/gtest.h>

namespace slip {
namespace {

TEST(Survival, LearnsAConditionalChanceForEachPosition) {
  Survival survival;
  for (int i = 0; i < 400; ++i)
    survival.observe(0, 3, i % 2 == 0 ? 1 : 3);  // the second token fails every other time
  const Survival::Curve curve = survival.curve(0);
  EXPECT_NEAR(curve[1], 1, 0.02);
  EXPECT_NEAR(curve[2], 0.5, 0.1);
  EXPECT_NEAR(curve[3] / curve[2], 1, 0.1);
}

TEST(Survival, NeverJudgesTokensAfterARejection) {
  Survival survival;
  for (int i = 0; i < 100; ++i) survival.observe(0, 2, 2);
  for (int i = 0; i < 100; ++i) survival.observe(0, 2, 0);
  EXPECT_GT(survival.curve(0)[2] / survival.curve(0)[1], 0.8);  // the second token never failed
}

TEST(Survival, KeepsShortAndLongAgreementApart) {
  constexpr int32_t kBucketBorders[] = {0, 1, 4, 8, 16, 32, 64, 128};
  for (const int32_t taught : kBucketBorders) {
    Survival survival;
    const Survival untaught;
    for (int i = 0; i < 100; ++i) survival.observe(taught, 4, 0);
    for (const int32_t asked : kBucketBorders) {
      if (asked == taught) {
        EXPECT_LT(survival.curve(asked)[1], 0.05);
      } else {
        EXPECT_EQ(survival.curve(asked)[1], untaught.curve(asked)[1]);
      }
    }
  }
}

TEST(Survival, GuessesDeepPositionsFromThoseBeforeThem) {
  Survival good, bad;
  for (int i = 0; i < 100; ++i) good.observe(8, 2, 2), bad.observe(8, 2, 1);
  EXPECT_GT(good.curve(8)[8], 0.9);
  EXPECT_LT(bad.curve(8)[8], 0.01);
}

TEST(Survival, WeighsTheLastDraftAsOneOfMany) {
  Survival survival;
  for (int i = 0; i < 50; ++i) survival.observe(20, 31, 31);
  survival.observe(20, 31, 20);
  EXPECT_GT(survival.curve(20)[31], 0.9);
}

TEST(Survival, HopesAgainForALengthThatWasGivenUp) {
  Survival survival;
  for (int i = 0; i < 50; ++i) survival.observe(0, 31, 16);
  ASSERT_LT(survival.curve(0)[31], 0.1);
  for (int i = 0; i < 100; ++i) survival.observe(0, 16, 16);
  EXPECT_GT(survival.curve(0)[31], 0.7);
}

TEST(Survival, BelievesACopyMoreTheMoreOfItHasAgreed) {
  Survival survival;
  for (int i = 0; i < 50; ++i) survival.observe(4, 20, i % 2 == 0 ? 0 : 20);
  const Survival::Curve curve = survival.curve(4);
  EXPECT_LT(curve[1], 0.9);
  EXPECT_GT(curve[20] / curve[4], 0.95);  // 8 agreeing tokens and more
  EXPECT_GT(survival.curve(8)[1], 0.95);  // so does a copy that begins there
}

TEST(Survival, NeverRisesAlongADraft) {
  Survival survival;
  for (int i = 0; i < 200; ++i) survival.observe(20, 31, i * 7 % 32);
  const Survival::Curve curve = survival.curve(20);
  for (size_t k = 1; k < curve.size(); ++k) EXPECT_LE(curve[k], curve[k - 1]);
}

TEST(Survival, LearnsFasterAfterLoosening) {
  Survival firm, loose;
  for (int i = 0; i < 100; ++i) firm.observe(0, 1, 0), loose.observe(0, 1, 0);
  loose.loosen();
  firm.observe(0, 1, 1), loose.observe(0, 1, 1);
  EXPECT_GT(loose.curve(0)[1], 1.5 * firm.curve(0)[1]);
}

TEST(Survival, StaysAChanceHoweverOftenItIsLoosened) {
  Survival survival;
  for (int i = 0; i < 5000; ++i) survival.loosen();
  EXPECT_DOUBLE_EQ(survival.curve(0)[1], Survival().curve(0)[1]);
}

}  // namespace
}  // namespace slip
