#include "app/argmax_differences.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace slip {
namespace {

constexpr float kNotANumber = std::numeric_limits<float>::quiet_NaN();

// One row of three logits on each side.
ArgmaxDifferences differences_of(std::vector<float> logits, std::vector<float> other) {
  ArgmaxDifferences differences;
  differences.add(7, logits, other);
  return differences;
}

TEST(ArgmaxDifferences, KeepsNoRowWhoseChoiceIsTheSame) {
  const ArgmaxDifferences found = differences_of({1, 3, 2}, {1, 4, 2.5f});
  EXPECT_TRUE(found.all().empty());
  EXPECT_EQ(found.n_rows(), 1);
}

TEST(ArgmaxDifferences, NamesTheTokenBothChoicesAndTheirMargins) {
  const ArgmaxDifferences found = differences_of({1, 3, 2}, {2.5f, 1, 2});
  ASSERT_EQ(found.all().size(), 1U);
  EXPECT_EQ(found.all()[0].index, 7);
  EXPECT_EQ(found.all()[0].choice, TokenId{1});
  EXPECT_EQ(found.all()[0].other_choice, TokenId{0});
  EXPECT_EQ(found.all()[0].margin, 1);
  EXPECT_EQ(found.all()[0].other_margin, 0.5f);
}

TEST(ArgmaxDifferences, CountsATieOfEitherSide) {
  EXPECT_EQ(differences_of({3, 3, 2}, {3, 3.25f, 2}).n_ties(), 1);
  EXPECT_EQ(differences_of({3, 3.25f, 2}, {3, 3, 2}).n_ties(), 1);
}

TEST(ArgmaxDifferences, CountsNoNearTie) {
  EXPECT_EQ(differences_of({3, 3.25f, 2}, {3.25f, 3, 2}).n_ties(), 0);
}

TEST(ArgmaxDifferences, KeepsTheLargestDifferenceOfALogit) {
  ArgmaxDifferences found = differences_of({1, 3, 2}, {1.5f, 3, 2});
  found.add(8, std::vector<float>{0, 1, 2}, std::vector<float>{0, 1, 2.25f});
  EXPECT_EQ(found.largest_logit_difference(), 0.5f);
}

TEST(ArgmaxDifferences, KeepsARowThatIsNotUsable) {
  ArgmaxDifferences found = differences_of({1, kNotANumber, 2}, {1, 1, 2});
  found.add(8, std::vector<float>{0, 1, 2}, std::vector<float>{0, 1, 2});
  EXPECT_EQ(found.all().size(), 1U);
  EXPECT_EQ(found.n_ties(), 0);
  EXPECT_TRUE(std::isnan(found.largest_logit_difference()));
}

}  // namespace
}  // namespace slip
