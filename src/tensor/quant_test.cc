#include "tensor/quant.h"

#include <cstring>
#include <vector>

#include <gtest/gtest.h>

namespace slip {
namespace {

// The bytes of `items` behind one stray byte: nothing in a file promises alignment.
template <class T>
std::vector<std::byte> misaligned(const std::vector<T>& items) {
  std::vector<std::byte> memory(1 + items.size() * sizeof(T));
  std::memcpy(memory.data() + 1, items.data(), items.size() * sizeof(T));
  return memory;
}

std::vector<float> row_of(const WeightView& weight, int32_t row) {
  std::vector<float> values(static_cast<size_t>(weight.n_in));
  dequantize_row(weight, row, values);
  return values;
}

TEST(DequantizeRow, CopiesF32) {
  const auto data = misaligned<float>({1, 2, 3, 4, 5, 6});
  const WeightView weight = {
      .format = WeightFormat::kF32, .n_out = 2, .n_in = 3, .data = data.data() + 1};
  EXPECT_EQ(row_of(weight, 0), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(row_of(weight, 1), (std::vector<float>{4, 5, 6}));
}

TEST(DequantizeRow, WidensBf16) {
  const auto data = misaligned<uint16_t>({0x3F80, 0x4000, 0xC020, 0x4049});
  const WeightView weight = {
      .format = WeightFormat::kBF16, .n_out = 2, .n_in = 2, .data = data.data() + 1};
  EXPECT_EQ(row_of(weight, 1), (std::vector<float>{-2.5f, 3.140625f}));
}

// Two rows of eight columns in groups of four; scales and biases are powers of two and their sums.
struct AffineExample {
  // As MLX stores them: four codes in a word, the first in its lowest byte.
  std::vector<std::byte> words =
      misaligned<uint32_t>({0x03020100, 0xFF800201, 0x00000001, 0x04030201});
  std::vector<std::byte> scales = misaligned<uint16_t>({0x3F80, 0x3F00, 0xC000, 0x3E80});
  std::vector<std::byte> biases = misaligned<uint16_t>({0x0000, 0xC2C8, 0x40A0, 0xBF80});
  WeightView weight = {.format = WeightFormat::kAffine8,
                       .n_out = 2,
                       .n_in = 8,
                       .group_size = 4,
                       .data = words.data() + 1,
                       .scales = scales.data() + 1,
                       .biases = biases.data() + 1};
};

TEST(DequantizeRow, ScalesAndShiftsEachGroupOfAffineCodes) {
  const AffineExample example;
  // Scales 1 and 0.5, biases 0 and -100.
  EXPECT_EQ(row_of(example.weight, 0), (std::vector<float>{0, 1, 2, 3, -99.5f, -99, -36, 27.5f}));
}

TEST(DequantizeRow, FindsTheCodesAndGroupsOfALaterRow) {
  const AffineExample example;
  // Scales -2 and 0.25, biases 5 and -1.
  EXPECT_EQ(row_of(example.weight, 1), (std::vector<float>{3, 5, 5, 5, -0.75f, -0.5f, -0.25f, 0}));
}

TEST(DequantizeRow, WidensF16) {
  const auto data = misaligned<uint16_t>({0x3C00, 0xC000, 0x0001, 0x3555});
  const WeightView weight = {
      .format = WeightFormat::kF16, .n_out = 2, .n_in = 2, .data = data.data() + 1};
  EXPECT_EQ(row_of(weight, 0), (std::vector<float>{1, -2}));
  EXPECT_EQ(row_of(weight, 1)[0], 0x1p-24f);
}

// One row of `bits`-bit codes in a single group, scale 1 and bias 0: the values are the codes.
std::vector<float> codes_of(WeightFormat format, const std::vector<uint32_t>& words, int32_t n_in) {
  const auto data = misaligned(words);
  const auto scale = misaligned<uint16_t>({0x3F80});
  const auto bias = misaligned<uint16_t>({0});
  return row_of({.format = format,
                 .n_out = 1,
                 .n_in = n_in,
                 .group_size = n_in,
                 .data = data.data() + 1,
                 .scales = scale.data() + 1,
                 .biases = bias.data() + 1},
                0);
}

// 32 codes of `bits` bits, code i being i modulo 2^bits, written bit after bit.
std::vector<uint32_t> packed_indices(uint32_t bits) {
  std::vector<uint32_t> words(bits);
  for (uint32_t bit = 0; bit < 32 * bits; ++bit) {
    const uint32_t code = bit / bits % (1u << bits);
    words[bit / 32] |= (code >> (bit % bits) & 1u) << (bit % 32);
  }
  return words;
}

TEST(DequantizeRow, ReadsCodesOfEveryWidthAsOneStreamOfBits) {
  for (const uint32_t bits : {2u, 3u, 4u, 5u, 6u, 8u}) {
    const WeightFormat format = affine_format(static_cast<int32_t>(bits)).value();
    const std::vector<float> values = codes_of(format, packed_indices(bits), 32);
    for (uint32_t i = 0; i < 32; ++i)
      EXPECT_EQ(values[i], static_cast<float>(i % (1u << bits))) << bits << " bits, code " << i;
  }
}

// The first word of 3-bit codes by hand: 5, 2, 7, and code 10 across the border of two words.
TEST(DequantizeRow, ReadsACodeThatStraddlesTwoWords) {
  const std::vector<float> values = codes_of(
      WeightFormat::kAffine3, {0b01'000'000'000'000'000'000'000'111'010'101u, 0b1u, 0}, 32);
  EXPECT_EQ(values[0], 5);
  EXPECT_EQ(values[1], 2);
  EXPECT_EQ(values[2], 7);
  EXPECT_EQ(values[10], 5);  // low bits 01, high bit 1
}

TEST(DequantizeRow, ReadsScalesOfEveryFloatType) {
  const auto codes = misaligned<uint32_t>({0x04030201});
  const auto halves = misaligned<uint16_t>({0x4000});  // 2 in F16
  const auto floats = misaligned<float>({2.0f});
  const WeightView f16 = {.format = WeightFormat::kAffine8,
                          .scale_type = DType::kF16,
                          .n_out = 1,
                          .n_in = 4,
                          .group_size = 4,
                          .data = codes.data() + 1,
                          .scales = halves.data() + 1,
                          .biases = halves.data() + 1};
  EXPECT_EQ(row_of(f16, 0), (std::vector<float>{4, 6, 8, 10}));
  WeightView f32 = f16;
  f32.scale_type = DType::kF32;
  f32.scales = f32.biases = floats.data() + 1;
  EXPECT_EQ(row_of(f32, 0), (std::vector<float>{4, 6, 8, 10}));
}

// Two blocks of rows and two of columns, the last of each short; every code is 1.0 (0x38), so the
// values are the scales 1, 2, 4, 8.
struct Fp8Example {
  std::vector<std::byte> codes = misaligned(std::vector<uint8_t>(130 * 136, 0x38));
  std::vector<std::byte> scales = misaligned<uint16_t>({0x3F80, 0x4000, 0x4080, 0x4100});
  WeightView weight = {.format = WeightFormat::kFp8Block,
                       .n_out = 130,
                       .n_in = 136,
                       .group_size = kFp8BlockColumns,
                       .data = codes.data() + 1,
                       .scales = scales.data() + 1};
};

TEST(DequantizeRow, ScalesEachBlockOfFp8Codes) {
  const Fp8Example example;
  EXPECT_EQ(row_of(example.weight, 127)[127], 1);
  EXPECT_EQ(row_of(example.weight, 127)[128], 2);
  EXPECT_EQ(row_of(example.weight, 128)[127], 4);
  EXPECT_EQ(row_of(example.weight, 129)[135], 8);
}

TEST(WeightView, CountsOneScaleForEachFp8Block) {
  EXPECT_EQ(Fp8Example().weight.n_bytes(), 130u * 136u + 4u * 2u);
}

TEST(SliceRows, MovesCodesScalesAndBiases) {
  const AffineExample example;
  const WeightView second = slice_rows(example.weight, 1, 1);
  EXPECT_EQ(second.n_out, 1);
  EXPECT_EQ(row_of(second, 0), row_of(example.weight, 1));
}

TEST(SliceRows, MovesAWholeBlockOfFp8Scales) {
  const Fp8Example example;
  EXPECT_EQ(row_of(slice_rows(example.weight, 128, 2), 1)[0], 4);
}

TEST(AffineFormat, KnowsTheWidthsOfMlx) {
  EXPECT_EQ(affine_format(5), WeightFormat::kAffine5);
  EXPECT_EQ(affine_format(7), std::nullopt);
}

TEST(WeightView, CountsCodesThatFillNoWholeByte) {
  const WeightView weight = {.format = WeightFormat::kAffine3, .n_out = 2, .n_in = 32};
  EXPECT_EQ(weight.n_bytes(), 24u);
}

TEST(WeightView, CountsCodesScalesAndBiases) {
  EXPECT_EQ(AffineExample().weight.n_bytes(), 16u + 2u * 4u * 2u);
}

TEST(WeightView, CountsPlainElements) {
  EXPECT_EQ((WeightView{.format = WeightFormat::kF32, .n_out = 3, .n_in = 5}.n_bytes()), 60u);
  EXPECT_EQ((WeightView{.format = WeightFormat::kBF16, .n_out = 3, .n_in = 5}.n_bytes()), 30u);
}

TEST(WeightView, CountsBeyondFourGigabytes) {
  const WeightView weight = {.format = WeightFormat::kBF16, .n_out = 1 << 20, .n_in = 1 << 14};
  EXPECT_EQ(weight.n_bytes(), size_t{1} << 35);
}

}  // namespace
}  // namespace slip
