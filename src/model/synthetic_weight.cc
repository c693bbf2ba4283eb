#include "model/synthetic_weight.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/check.h"
#include "base/error.h"

namespace slip {

namespace {

bool is_affine(WeightFormat format) { return affine_format(code_bits(format)) == format; }

size_t code_bytes(const WeightView& shape) {
  return shape.row_bytes() * static_cast<size_t>(shape.n_out);
}

size_t scale_bytes(const WeightView& shape) {
  return shape.n_scale_rows() * shape.scale_row_bytes();
}

// Which bits of two or four codes are random and what the others are: no infinity, no NaN.
struct WordBits {
  uint32_t random, fixed;
};

WordBits word_bits(WeightFormat format, float deviation) {
  if (is_affine(format)) return {~0u, 0};
  if (format == WeightFormat::kFp8Block) return {0xBFBFBFBFu, 0};  // below 2
  SLIP_CHECK(format == WeightFormat::kBF16);
  // From 2^e to twice that, whose root mean square is 1.53 times 2^e.
  const auto exponent = static_cast<int32_t>(std::lround(std::log2(deviation / 1.53f)));
  const auto field = static_cast<uint32_t>(127 + exponent) << 7;
  return {0x807F807Fu, field << 16 | field};
}

void fill_codes(const WordBits& bits, std::span<std::byte> bytes) {
  SLIP_CHECK(bytes.size() % sizeof(uint32_t) == 0);
  auto* words = reinterpret_cast<uint32_t*>(bytes.data());
  uint64_t state = 1;  // of Knuth's linear congruential generator: a model has gigabytes to draw
  for (size_t i = 0; i < bytes.size() / sizeof(uint32_t); ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    words[i] = (static_cast<uint32_t>(state >> 32) & bits.random) | bits.fixed;
  }
}

void fill_scales(const WeightView& shape, float value, std::span<std::byte> bytes) {
  for (size_t i = 0; i < bytes.size() / element_bytes(shape.scale_type); ++i)
    store_float(shape.scale_type, bytes.data(), i, value);
}

}  // namespace

WeightView weight_shape(WeightFormat format, int32_t n_out, int32_t n_in) {
  constexpr int32_t kAffineGroup = 64;
  WeightView shape{.format = format, .n_out = n_out, .n_in = n_in};
  if (format == WeightFormat::kFp8Block) shape.group_size = kFp8BlockColumns;
  if (!is_affine(format)) return shape;
  shape.group_size = kAffineGroup;
  if (n_in % kAffineGroup == 0) return shape;
  throw Error(ErrorCode::kUnsupportedModel,
              "input width is " + std::to_string(n_in) + ", expected a multiple of " +
                  std::to_string(kAffineGroup) + ", the group of an affine format");
}

size_t stored_bytes(const WeightView& shape) {
  return code_bytes(shape) + (is_affine(shape.format) ? 2 : 1) * scale_bytes(shape);
}

WeightView fill_weight(WeightView shape, float deviation, std::span<std::byte> bytes) {
  SLIP_CHECK(bytes.size() == stored_bytes(shape));
  const std::span<std::byte> codes = bytes.first(code_bytes(shape));
  const std::span<std::byte> scales = bytes.subspan(codes.size(), scale_bytes(shape));
  const std::span<std::byte> biases = bytes.subspan(codes.size() + scales.size());
  fill_codes(word_bits(shape.format, deviation), codes);
  shape.data = codes.data();
  if (!scales.empty()) shape.scales = scales.data();
  if (shape.format == WeightFormat::kFp8Block) {
    constexpr float kCodeDeviation = 0.615f;  // of E4M3 codes below 2
    fill_scales(shape, deviation / kCodeDeviation, scales);
  }
  if (biases.empty()) return shape;
  const auto n_codes = static_cast<float>(1 << code_bits(shape.format));
  const float scale = deviation / (n_codes / std::sqrt(12.0f));  // codes are uniform
  fill_scales(shape, scale, scales);
  fill_scales(shape, -scale * (n_codes - 1) / 2, biases);
  shape.biases = biases.data();
  return shape;
}

}  // namespace slip
