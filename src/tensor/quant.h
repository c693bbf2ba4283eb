// Weight formats: what a matrix of a checkpoint looks like in memory, and the definition of its
// values.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "tensor/tensor_view.h"

namespace slip {

enum class WeightFormat : uint8_t {
  kF32,
  kBF16,
  kAffine8,  // MLX affine, 8 bits: value = scale * code + bias, one (scale, bias) pair for each
             // group along a row
};

std::string_view name(WeightFormat format);

// A matrix [n_out, n_in] that maps rows of n_in inputs to n_out outputs. Points into the file,
// nothing is copied.
struct WeightView {
  WeightFormat format = WeightFormat::kF32;
  int32_t n_out = 0;
  int32_t n_in = 0;
  int32_t group_size = 0;           // columns that share a scale; 0 where there are no groups
  const std::byte* data = nullptr;  // [n_out, n_in] elements or codes, row-major, no padding
  const std::byte* scales =
      nullptr;  // [n_out, n_in / group_size] BF16; null where there are no groups
  const std::byte* biases = nullptr;  // as scales

  size_t n_bytes() const;  // of data, scales and biases: what one product has to read
};

// Row `row` as floats: the definition that kernels are tested against.
//   values  [n_in]
// Affine: value = fma(scale, code, bias), all three exact in float.
void dequantize_row(const WeightView& weight, int32_t row, std::span<float> values);

}  // namespace slip
