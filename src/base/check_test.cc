#include "base/check.h"

#include <gtest/gtest.h>

namespace slip {
namespace {

TEST(CheckDeathTest, NamesTheConditionAndThePlace) {
  EXPECT_DEATH(SLIP_CHECK(1 + 1 == 3),
               "internal error: 1 \\+ 1 == 3 does not hold at .*check_test.cc:[0-9]+");
}

TEST(Check, EvaluatesItsConditionOnce) {
  int n = 0;
  SLIP_CHECK(++n == 1);
  EXPECT_EQ(n, 1);
}

}  // namespace
}  // namespace slip
