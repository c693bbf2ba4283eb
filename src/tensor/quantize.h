// Floats to MLX affine codes: the inverse of dequantize_row (tensor/quant.h), by the rule of MLX's
// own quantiser, so that a pack made here means there what it means here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tensor/dtype.h"

namespace slip {

// One row of a matrix as WeightFormat::kAffine* stores it.
struct AffineRow {
  std::span<std::byte> codes;  // [n_in * bits / 8], one bit stream, lowest bits first
  std::span<BFloat16> scales;  // [n_in / group_size]
  std::span<BFloat16> biases;  // as scales
};

// Quantises each group of `group_size` values by itself: the end of its range that is larger in
// magnitude becomes the bias, exactly, and zero becomes a code, exactly but for the rounding of the
// scale. Codes are the nearest ones for the scale and bias as stored.
//
// A value comes back within |scale| / 2. At the other end of the range, where codes run out, it may
// miss by two steps of (max - min) / (2^bits - 1); a bias that is no bfloat16 adds |bias| / 512.
//
//   values      [n_in], n_in a multiple of group_size
//   bits        2, 3, 4, 5, 6 or 8
//   group_size  a multiple of 8
// False, and the row is unspecified, where a value is not finite.
bool quantize_row(std::span<const float> values, int32_t bits, int32_t group_size,
                  const AffineRow& row);

}  // namespace slip
