#include "tensor/dtype.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace slip {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

float from_bits(uint32_t bits) { return std::bit_cast<float>(bits); }

TEST(DType, HasTheNamesAndSizesOfSafetensors) {
  EXPECT_EQ(parse_dtype("F32"), DType::kF32);
  EXPECT_EQ(parse_dtype("BF16"), DType::kBF16);
  EXPECT_EQ(parse_dtype("BOOL"), DType::kBool);
  EXPECT_EQ(parse_dtype("F8_E4M3"), DType::kF8E4M3);
  EXPECT_EQ(element_bytes(DType::kF64), 8u);
  EXPECT_EQ(element_bytes(DType::kU32), 4u);
  EXPECT_EQ(element_bytes(DType::kF16), 2u);
  EXPECT_EQ(element_bytes(DType::kF8E5M2), 1u);
}

TEST(DType, ParsesEveryNameItGives) {
  for (int i = 0; i <= static_cast<int>(DType::kF8E5M2); ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(parse_dtype(name(dtype)), dtype) << i;
  }
}

TEST(DType, IsNotGuessedFromAnUnknownName) {
  for (const char* unknown : {"", "f32", "F32 ", "F4", "BF16X"}) {
    EXPECT_EQ(parse_dtype(unknown), std::nullopt) << unknown;
  }
}

TEST(BFloat16, RoundsToNearestTiesToEven) {
  EXPECT_EQ(to_bfloat16(from_bits(0x3F807FFF)).bits, 0x3F80);  // below half
  EXPECT_EQ(to_bfloat16(from_bits(0x3F808000)).bits, 0x3F80);  // half, even below
  EXPECT_EQ(to_bfloat16(from_bits(0x3F808001)).bits, 0x3F81);  // above half
  EXPECT_EQ(to_bfloat16(from_bits(0x3F818000)).bits, 0x3F82);  // half, even above
  EXPECT_EQ(to_bfloat16(from_bits(0xBF818000)).bits, 0xBF82);  // the sign does not matter
  EXPECT_EQ(to_bfloat16(from_bits(0x3FFFFFFF)).bits, 0x4000);  // carry into the exponent
}

TEST(BFloat16, OverflowsToInfinity) {
  EXPECT_EQ(to_float(to_bfloat16(std::numeric_limits<float>::max())), kInfinity);
  EXPECT_EQ(to_float(to_bfloat16(-kInfinity)), -kInfinity);
}

TEST(BFloat16, KeepsEveryNan) {
  for (const uint32_t nan : {0x7FC00000u, 0x7F800001u, 0x7FFFFFFFu, 0xFFFFFFFFu}) {
    EXPECT_TRUE(std::isnan(to_float(to_bfloat16(from_bits(nan))))) << std::hex << nan;
  }
}

TEST(BFloat16, SurvivesTheWayThroughFloat) {
  for (uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
    const float value = to_float(BFloat16{static_cast<uint16_t>(bits)});
    if (std::isnan(value)) continue;
    ASSERT_EQ(to_bfloat16(value).bits, bits);
  }
}

struct HalfCase {
  uint16_t bits;
  float value;
};

TEST(HalfToFloat, KnowsTheBorderValuesOfBinary16) {
  constexpr HalfCase kCases[] = {
      {0x3C00, 1.0f},      {0xC000, -2.0f},      {0x3555, 0.333251953125f},
      {0x7BFF, 65504.0f},  {0x0400, 0x1p-14f},   {0x03FF, 1023.0f * 0x1p-24f},
      {0x0001, 0x1p-24f},  {0x8001, -0x1p-24f},  {0x0000, 0.0f},
      {0x7C00, kInfinity}, {0xFC00, -kInfinity},
  };
  for (const HalfCase& half : kCases) {
    EXPECT_EQ(half_to_float(half.bits), half.value) << std::hex << half.bits;
  }
}

TEST(HalfToFloat, KeepsTheSignOfZero) { EXPECT_TRUE(std::signbit(half_to_float(0x8000))); }

TEST(HalfToFloat, KeepsNan) {
  EXPECT_TRUE(std::isnan(half_to_float(0x7C01)));
  EXPECT_TRUE(std::isnan(half_to_float(0xFE00)));
}

TEST(HalfToFloat, RisesWithTheBits) {
  for (uint16_t bits = 0; bits < 0x7C00; ++bits) {
    ASSERT_LT(half_to_float(bits), half_to_float(static_cast<uint16_t>(bits + 1))) << bits;
  }
}

TEST(FloatToHalf, GivesEveryHalfBack) {
  for (uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
    const float value = half_to_float(static_cast<uint16_t>(bits));
    if (std::isnan(value)) continue;
    ASSERT_EQ(float_to_half(value), bits);
  }
}

TEST(FloatToHalf, RoundsToTheNearestAndTiesToEven) {
  for (uint32_t bits = 0; bits < 0x7BFF; ++bits) {
    const auto below = static_cast<uint16_t>(bits), above = static_cast<uint16_t>(bits + 1);
    const float middle = (half_to_float(below) + half_to_float(above)) / 2;  // exact
    ASSERT_EQ(float_to_half(middle), bits % 2 == 0 ? below : above) << bits;
    ASSERT_EQ(float_to_half(std::nextafter(middle, -1.0f)), below) << bits;
    ASSERT_EQ(float_to_half(std::nextafter(middle, kInfinity)), above) << bits;
  }
}

TEST(FloatToHalf, GivesInfinityBeyondTheRangeAndKeepsNan) {
  EXPECT_EQ(float_to_half(65519.99f), 0x7BFF);
  EXPECT_EQ(float_to_half(65520.0f), 0x7C00);
  EXPECT_EQ(float_to_half(-1e30f), 0xFC00);
  EXPECT_TRUE(std::isnan(half_to_float(float_to_half(from_bits(0x7F800001)))));
}

TEST(E4m3, HasTheValuesOfItsDefinition) {
  EXPECT_EQ(e4m3_to_float(0x00), 0);
  EXPECT_EQ(e4m3_to_float(0x38), 1);
  EXPECT_EQ(e4m3_to_float(0xB8), -1);
  EXPECT_EQ(e4m3_to_float(0x3C), 1.5f);
  EXPECT_EQ(e4m3_to_float(0x7E), 448);          // the largest
  EXPECT_EQ(e4m3_to_float(0x08), 0x1p-6f);      // the smallest normal
  EXPECT_EQ(e4m3_to_float(0x03), 3 * 0x1p-9f);  // subnormal
}

TEST(E4m3, HasNoInfinityAndTwoNans) {
  EXPECT_TRUE(std::isnan(e4m3_to_float(0x7F)));
  EXPECT_TRUE(std::isnan(e4m3_to_float(0xFF)));
}

}  // namespace
}  // namespace slip
