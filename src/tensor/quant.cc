#include "tensor/quant.h"

#include <cmath>
#include <cstring>

#include "base/check.h"

namespace slip {
namespace {

template <class T>
T load(const std::byte* data, size_t i) {
  T value;
  std::memcpy(&value, data + i * sizeof(T), sizeof(T));
  return value;
}

size_t code_bytes(WeightFormat format) {
  switch (format) {
    case WeightFormat::kF32:
      return sizeof(float);
    case WeightFormat::kBF16:
      return sizeof(BFloat16);
    case WeightFormat::kAffine8:
      return sizeof(uint8_t);
  }
  SLIP_CHECK(false);
}

size_t n_groups(const WeightView& weight) {
  return weight.group_size == 0 ? 0 : static_cast<size_t>(weight.n_in / weight.group_size);
}

// MLX packs four codes into a little-endian uint32, lowest bits first: the codes are the bytes in
// order.
void dequantize_affine8(const WeightView& weight, size_t row, std::span<float> values) {
  SLIP_CHECK(weight.group_size > 0 && weight.n_in % weight.group_size == 0);
  const auto group_size = static_cast<size_t>(weight.group_size);
  const size_t first_group = row * n_groups(weight);
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t group = first_group + i / group_size;
    const float scale = to_float(load<BFloat16>(weight.scales, group));
    const float bias = to_float(load<BFloat16>(weight.biases, group));
    const auto code = load<uint8_t>(weight.data, row * values.size() + i);
    values[i] = std::fma(scale, static_cast<float>(code), bias);
  }
}

}  // namespace

std::string_view name(WeightFormat format) {
  switch (format) {
    case WeightFormat::kF32:
      return "f32";
    case WeightFormat::kBF16:
      return "bf16";
    case WeightFormat::kAffine8:
      return "affine8";
  }
  SLIP_CHECK(false);
}

size_t WeightView::n_bytes() const {
  const auto n_rows = static_cast<size_t>(n_out);
  return n_rows * static_cast<size_t>(n_in) * code_bytes(format) +
         n_rows * n_groups(*this) * 2 * sizeof(BFloat16);
}

void dequantize_row(const WeightView& weight, int32_t row, std::span<float> values) {
  SLIP_CHECK(row >= 0 && row < weight.n_out);
  SLIP_CHECK(values.size() == static_cast<size_t>(weight.n_in));
  const auto row_index = static_cast<size_t>(row);
  const size_t first = row_index * values.size();
  switch (weight.format) {
    case WeightFormat::kF32:
      std::memcpy(values.data(), weight.data + first * sizeof(float), values.size_bytes());
      return;
    case WeightFormat::kBF16:
      for (size_t i = 0; i < values.size(); ++i) {
        values[i] = to_float(load<BFloat16>(weight.data, first + i));
      }
      return;
    case WeightFormat::kAffine8:
      dequantize_affine8(weight, row_index, values);
      return;
  }
  SLIP_CHECK(false);
}

}  // namespace slip
