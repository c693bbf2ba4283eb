// Random matrices in every weight format, for the tests of Ops.
#pragma once

#include <cmath>
#include <cstring>
#include <span>
#include <vector>

#include "backend/cpu/ops_fixture.h"
#include "tensor/quant.h"

namespace slip::cpu {

// Bytes of a matrix, at an odd address as in a mapped file.
struct MatrixBytes {
  std::vector<std::byte> data, scales, biases;
  WeightView view;
};

inline void put_bytes(std::vector<std::byte>& to, const void* from, size_t n) {
  const size_t old = to.empty() ? 1 : to.size();
  to.resize(old + n);
  std::memcpy(to.data() + old, from, n);
}

// F16 by rule: bits with a middle exponent, since nothing here writes halves.
inline void put_floats(std::vector<std::byte>& to, std::span<const float> values, DType type) {
  for (const float value : values) {
    const BFloat16 bf16 = to_bfloat16(value);
    const auto sign = static_cast<uint16_t>(std::signbit(value) ? 0x8000 : 0);
    const auto f16 = static_cast<uint16_t>(sign | 0x2400 | (bf16.bits * 97u & 0x07FF));
    if (type == DType::kF32) put_bytes(to, &value, sizeof value);
    if (type == DType::kBF16) put_bytes(to, &bf16, sizeof bf16);
    if (type == DType::kF16) put_bytes(to, &f16, sizeof f16);
  }
}

inline DType element_type(WeightFormat format) {
  return format == WeightFormat::kF32   ? DType::kF32
         : format == WeightFormat::kF16 ? DType::kF16
                                        : DType::kBF16;
}

struct MatrixShape {
  WeightFormat format;
  int32_t group_size;
  int32_t n_out, n_in;
  DType scale_type = DType::kBF16;
};

inline MatrixBytes make_matrix(const MatrixShape& shape, uint64_t seed) {
  MatrixBytes m;
  m.view = {.format = shape.format,
            .scale_type = shape.scale_type,
            .n_out = shape.n_out,
            .n_in = shape.n_in,
            .group_size = shape.group_size};
  const size_t n = static_cast<size_t>(shape.n_out) * static_cast<size_t>(shape.n_in);
  if (shape.group_size == 0) {
    put_floats(m.data, random_floats(n, seed), element_type(shape.format));
  } else {
    const bool is_fp8 = shape.format == WeightFormat::kFp8Block;
    m.data.resize(1 + static_cast<size_t>(shape.n_out) * m.view.row_bytes());
    for (size_t i = 1; i < m.data.size(); ++i) {
      auto code = static_cast<int>(256 * uniform(seed, i, Draw::kTest));
      if (is_fp8 && (code & 0x7F) == 0x7F) code = 0x38;  // NaN has a test of its own
      m.data[i] = static_cast<std::byte>(code);
    }
    const size_t n_scales = m.view.n_scale_rows() * m.view.n_groups();
    put_floats(m.scales, random_floats(n_scales, seed + 1, 0.01f), shape.scale_type);
    if (!is_fp8) put_floats(m.biases, random_floats(n_scales, seed + 2), shape.scale_type);
  }
  m.view.data = m.data.data() + 1;
  m.view.scales = m.scales.empty() ? nullptr : m.scales.data() + 1;
  m.view.biases = m.biases.empty() ? nullptr : m.biases.data() + 1;
  return m;
}

inline int32_t group_size_of(WeightFormat format) {
  if (format == WeightFormat::kFp8Block) return kFp8BlockColumns;
  return code_bits(format) < 16 ? 32 : 0;
}

}  // namespace slip::cpu
