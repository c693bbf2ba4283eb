// The quantiser against the definition of what its codes mean (dequantize_row).

#include "tensor/quantize.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "tensor/quant.h"

namespace slip {
namespace {

constexpr int32_t kGroup = 32;

struct Quantized {
  std::vector<std::byte> codes;
  std::vector<BFloat16> scales, biases;
  WeightView view;

  Quantized(std::span<const float> values, int32_t bits, int32_t group_size = kGroup)
      : codes(values.size() * static_cast<size_t>(bits) / 8),
        scales(values.size() / static_cast<size_t>(group_size)),
        biases(scales.size()) {
    EXPECT_TRUE(quantize_row(values, bits, group_size, {codes, scales, biases}));
    view = {.format = *affine_format(bits),
            .scale_type = DType::kBF16,
            .n_out = 1,
            .n_in = static_cast<int32_t>(values.size()),
            .group_size = group_size,
            .data = codes.data(),
            .scales = reinterpret_cast<const std::byte*>(scales.data()),
            .biases = reinterpret_cast<const std::byte*>(biases.data())};
  }

  std::vector<float> values() const {
    std::vector<float> result(static_cast<size_t>(view.n_in));
    dequantize_row(view, 0, result);
    return result;
  }
};

// Values as a checkpoint has them, in bfloat16; every group has another width and centre.
std::vector<float> weights(size_t n) {
  std::vector<float> values(n);
  for (size_t i = 0; i < n; ++i) {
    const size_t group = i / kGroup;
    const float centre = static_cast<float>(group % 3) - 1.0f;
    const float width = 0.01f * static_cast<float>(1 + group % 7);
    const float z = normal(5, i, Draw::kWeight);
    values[i] = to_float(to_bfloat16(centre * 3 * width + width * z));
  }
  return values;
}

class QuantizeRow : public testing::TestWithParam<int32_t> {};

TEST_P(QuantizeRow, ComesBackWithinHalfAStep) {
  const std::vector<float> wanted = weights(64 * kGroup);
  const Quantized row(wanted, GetParam());
  const std::vector<float> found = row.values();
  const auto code_max = static_cast<float>((1 << GetParam()) - 1);
  for (size_t i = 0; i < wanted.size(); ++i) {
    const float scale = to_float(row.scales[i / kGroup]);
    const float bias = to_float(row.biases[i / kGroup]);
    const float code = (wanted[i] - bias) / scale;
    if (code > code_max) continue;  // beyond the last code: the next test's business
    EXPECT_LE(std::abs(found[i] - wanted[i]), 0.501f * std::abs(scale)) << i;
  }
}

TEST_P(QuantizeRow, MissesTheFarEndByTwoStepsAtMost) {
  const std::vector<float> wanted = weights(64 * kGroup);
  const std::vector<float> found = Quantized(wanted, GetParam()).values();
  const auto code_max = static_cast<float>((1 << GetParam()) - 1);
  for (size_t begin = 0; begin < wanted.size(); begin += kGroup) {
    const auto group = std::span(wanted).subspan(begin, kGroup);
    const auto [min, max] = std::ranges::minmax(group);
    for (size_t i = begin; i < begin + kGroup; ++i)
      EXPECT_LE(std::abs(found[i] - wanted[i]), 2.0f * (max - min) / code_max) << i;
  }
}

TEST_P(QuantizeRow, KeepsTheLargestMagnitudeExactly) {
  const std::vector<float> wanted = weights(16 * kGroup);
  const std::vector<float> found = Quantized(wanted, GetParam()).values();
  for (size_t begin = 0; begin < wanted.size(); begin += kGroup) {
    const auto group = std::span(wanted).subspan(begin, kGroup);
    const auto largest =
        std::ranges::max_element(group, [](float a, float b) { return std::abs(a) < std::abs(b); });
    const size_t i = begin + static_cast<size_t>(largest - group.begin());
    EXPECT_EQ(found[i], wanted[i]) << i;
  }
}

TEST_P(QuantizeRow, GivesBackEveryCodeOfAGridThatItCanHold) {
  // 0 to 2^bits - 1 in steps of one: scale -1 and bias 2^bits - 1 hold them exactly.
  const int32_t n_codes = 1 << GetParam();
  std::vector<float> wanted(static_cast<size_t>(std::max(n_codes, kGroup)));
  for (size_t i = 0; i < wanted.size(); ++i)
    wanted[i] = static_cast<float>(i % static_cast<size_t>(n_codes));
  const auto group_size = static_cast<int32_t>(wanted.size());
  EXPECT_EQ(Quantized(wanted, GetParam(), group_size).values(), wanted);
}

INSTANTIATE_TEST_SUITE_P(Bits, QuantizeRow, testing::Values(2, 3, 4, 5, 6, 8));

TEST(QuantizeRowOf, ZerosIsZeros) {
  const std::vector<float> zeros(kGroup, 0.0f);
  EXPECT_EQ(Quantized(zeros, 4).values(), zeros);
}

TEST(QuantizeRowOf, AConstantIsThatConstant) {
  const std::vector<float> constant(kGroup, -0.375f);
  EXPECT_EQ(Quantized(constant, 4).values(), constant);
}

TEST(QuantizeRowOf, NegativeLowEndHasAPositiveScale) {
  std::vector<float> values(kGroup, 0.0f);
  values[0] = -15.0f;
  const Quantized row(values, 4);
  EXPECT_EQ(to_float(row.scales[0]), 1.0f);
  EXPECT_EQ(to_float(row.biases[0]), -15.0f);
}

TEST(QuantizeRowOf, PositiveHighEndHasANegativeScale) {
  std::vector<float> values(kGroup, 0.0f);
  values[0] = 15.0f;
  const Quantized row(values, 4);
  EXPECT_EQ(to_float(row.scales[0]), -1.0f);
  EXPECT_EQ(to_float(row.biases[0]), 15.0f);
}

TEST(QuantizeRowOf, ValuesThatAreNotFiniteIsRefused) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    std::vector<float> values(kGroup, 1.0f);
    values[kGroup - 1] = bad;
    std::vector<std::byte> codes(kGroup / 2);
    std::vector<BFloat16> scales(1), biases(1);
    EXPECT_FALSE(quantize_row(values, 4, kGroup, {codes, scales, biases}));
  }
}

}  // namespace
}  // namespace slip
