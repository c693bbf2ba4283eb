// Weight formats: what a matrix of a checkpoint looks like in memory, and the definition of its
// values. A format is one row of the table in quant.cc and one row of each backend's product table.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "tensor/tensor_view.h"

namespace slip {

enum class WeightFormat : uint8_t {
  kF32,
  kF16,
  kBF16,
  // MLX affine: value = scale * code + bias, one (scale, bias) pair for each group along a row.
  // A row is one bit stream, lowest bits first.
  kAffine2,
  kAffine3,
  kAffine4,
  kAffine5,
  kAffine6,
  kAffine8,
  kFp8Block,  // value = E4M3 code * scale, one scale for each block of 128 rows and 128 columns
};
inline constexpr int kWeightFormatCount = 10;

inline constexpr int32_t kFp8BlockRows = 128;
inline constexpr int32_t kFp8BlockColumns = 128;

std::string_view name(WeightFormat format);

// Bits of one value, scales and biases aside.
int32_t code_bits(WeightFormat format);

// The affine format of that width; no value where there is none.
std::optional<WeightFormat> affine_format(int32_t bits);

// A matrix [n_out, n_in] that maps rows of n_in inputs to n_out outputs. Points into the file, or
// into bytes that the model owns.
struct WeightView {
  WeightFormat format = WeightFormat::kF32;
  DType scale_type = DType::kBF16;  // of scales and biases: F32, F16 or BF16
  int32_t n_out = 0;
  int32_t n_in = 0;
  int32_t group_size = 0;             // columns that share a scale; 0 where there are no scales
  const std::byte* data = nullptr;    // [n_out, n_in] elements or codes, row-major, no padding
  const std::byte* scales = nullptr;  // [n_scale_rows, n_groups]; null where there are no scales
  const std::byte* biases = nullptr;  // as scales; affine only

  size_t row_bytes() const;        // of data
  size_t n_groups() const;         // along a row, the last may be short; 0: no scales
  size_t n_scale_rows() const;     // rows, or blocks of rows, that have scales
  size_t scale_row_bytes() const;  // of scales, and of biases
  size_t n_bytes() const;          // of data, scales and biases: what one product has to read
};

// Row `row` as floats: the definition that kernels are tested against.
//   values  [n_in]
// Affine: value = fma(scale, code, bias), all three exact in float. FP8: one rounded product.
void dequantize_row(const WeightView& weight, int32_t row, std::span<float> values);

// Rows [begin, begin + n_rows) of the same bytes. Block FP8: `begin` is a multiple of 128.
WeightView slice_rows(const WeightView& weight, int32_t begin, int32_t n_rows);

// Element `index` of packed F32, F16 or BF16 values; rounded to the nearest where it is stored.
float load_float(DType dtype, const std::byte* data, size_t index);
void store_float(DType dtype, std::byte* data, size_t index, float value);

}  // namespace slip
