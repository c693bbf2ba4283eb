#include "model/synthetic_weight.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing/expect_error.h"

namespace slip {
namespace {

constexpr WeightFormat kFilled[] = {WeightFormat::kAffine8, WeightFormat::kAffine4,
                                    WeightFormat::kBF16, WeightFormat::kFp8Block};

TEST(FillWeight, GivesValuesOfTheDeviation) {
  for (const WeightFormat format : kFilled) {
    const WeightView shape = weight_shape(format, 64, 256);
    std::vector<std::byte> bytes(stored_bytes(shape));
    const WeightView weight = fill_weight(shape, 0.02f, bytes);
    std::vector<float> row(256);
    double sum = 0, squares = 0;
    for (int32_t r = 0; r < weight.n_out; ++r) {
      dequantize_row(weight, r, row);
      for (const float x : row) {
        sum += static_cast<double>(x);
        squares += static_cast<double>(x) * static_cast<double>(x);
      }
    }
    const double n = 64 * 256;
    EXPECT_NEAR(sum / n, 0, 0.002) << name(format);
    EXPECT_GT(std::sqrt(squares / n), 0.02 / 1.5) << name(format);
    EXPECT_LT(std::sqrt(squares / n), 0.02 * 1.5) << name(format);
  }
}

TEST(FillWeight, FillsWhatAProductReads) {
  for (const WeightFormat format : kFilled) {
    const WeightView shape = weight_shape(format, 130, 256);
    std::vector<std::byte> bytes(stored_bytes(shape));
    EXPECT_EQ(fill_weight(shape, 1, bytes).n_bytes(), bytes.size()) << name(format);
  }
}

TEST(WeightShape, RefusesAWidthThatGroupsCannotDivide) {
  EXPECT_TRUE(test::fails_with(ErrorCode::kUnsupportedModel, "input width is 96",
                               [] { weight_shape(WeightFormat::kAffine4, 8, 96); }));
}

}  // namespace
}  // namespace slip
