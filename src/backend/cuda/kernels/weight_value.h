// One weight by definition (tensor/quant.h), whatever its format.
#pragma once

#include "backend/cuda/kernels/matrix.h"
#include "backend/cuda/tile/elements.h"

namespace slip::cuda {

__device__ __forceinline__ float element(DType type, const std::byte* data, int64_t i) {
  return load_element(type, data + i * (type == DType::kF32 ? 4 : 2));
}

__device__ __forceinline__ float from_e4m3(unsigned bits) {
  const unsigned magnitude = bits & 0x7Fu;
  if (magnitude == 0x7F) return __uint_as_float(0x7FC00000u);  // NaN
  // Exponent and mantissa land in those of a float whose bias is 120 too small.
  const float value = __uint_as_float(magnitude << 20) * 0x1p120f;
  return (bits & 0x80u) != 0 ? -value : value;
}

// Codes of a row are one stream of bits, lowest first: a code lies in one byte or in two.
__device__ __forceinline__ unsigned affine_code_at(const DeviceMatrix& m, int64_t row,
                                                   int32_t column) {
  const int64_t row_bytes = int64_t{m.n_in} * m.code_bits / 8;
  const auto* bytes = reinterpret_cast<const uint8_t*>(m.data) + row * row_bytes;
  const int32_t first_bit = column * m.code_bits;
  const int32_t shift = first_bit % 8;
  unsigned code = static_cast<unsigned>(bytes[first_bit / 8]) >> shift;
  if (shift + m.code_bits > 8)
    code |= static_cast<unsigned>(bytes[first_bit / 8 + 1]) << (8 - shift);
  return code & ((1u << m.code_bits) - 1);
}

__device__ __forceinline__ float weight_value(const DeviceMatrix& m, int64_t row, int32_t column) {
  switch (m.format) {
    case WeightFormat::kF32:
      return element(DType::kF32, m.data, row * m.n_in + column);
    case WeightFormat::kF16:
      return element(DType::kF16, m.data, row * m.n_in + column);
    case WeightFormat::kBF16:
      return element(DType::kBF16, m.data, row * m.n_in + column);
    default:
      break;
  }
  const int32_t n_groups = (m.n_in + m.group_size - 1) / m.group_size;
  if (m.format == WeightFormat::kFp8Block) {
    const int64_t scale = row / kFp8BlockRows * n_groups + column / kFp8BlockColumns;
    const auto code = static_cast<unsigned>(m.data[row * m.n_in + column]);
    return from_e4m3(code) * element(m.scale_type, m.scales, scale);
  }
  const int64_t group = row * n_groups + column / m.group_size;
  return fmaf(element(m.scale_type, m.scales, group),
              static_cast<float>(affine_code_at(m, row, column)),
              element(m.scale_type, m.biases, group));
}

}  // namespace slip::cuda
