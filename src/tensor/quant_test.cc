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
