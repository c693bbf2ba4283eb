#include "backend/cpu/self_check.h"

#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace slip::cpu {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNotANumber = std::numeric_limits<float>::quiet_NaN();

TEST(FirstDifference, AllowsTheToleranceOfTheTypicalElementAndOfTheElementItself) {
  const std::vector<float> wanted = {1, -1, 1, -1};
  EXPECT_EQ(first_difference(std::vector<float>{1, -1, 1.19f, -1}, wanted, 0.1), std::nullopt);
  EXPECT_EQ(first_difference(std::vector<float>{1, -1, 1.21f, -1}, wanted, 0.1), 2u);
}

TEST(FirstDifference, GivesTheFirstOfSeveral) {
  EXPECT_EQ(first_difference(std::vector<float>{1, 5, 5}, std::vector<float>{1, 1, 1}, 0.1), 1u);
}

TEST(FirstDifference, FindsWhatIsNotFiniteOnOneSideOnly) {
  EXPECT_EQ(first_difference(std::vector<float>{kNotANumber}, std::vector<float>{1}, 0.1), 0u);
  EXPECT_EQ(first_difference(std::vector<float>{1}, std::vector<float>{kInfinity}, 0.1), 0u);
}

TEST(FirstDifference, MeasuresByFiniteElementsAlone) {
  EXPECT_EQ(
      first_difference(std::vector<float>{kInfinity, 2}, std::vector<float>{kNotANumber, 1}, 0.1),
      1u);
}

}  // namespace
}  // namespace slip::cpu
