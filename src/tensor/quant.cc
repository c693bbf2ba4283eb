#include "tensor/quant.h"

#include <array>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "base/enum_table.h"

namespace slip {
namespace {

template <class T>
T load(const std::byte* data, size_t i) {
  T value;
  std::memcpy(&value, data + i * sizeof(T), sizeof(T));
  return value;
}

template <DType kType>
void decode_elements(const WeightView& weight, size_t row, std::span<float> values) {
  const std::byte* data = weight.data + row * weight.row_bytes();
  for (size_t i = 0; i < values.size(); ++i) values[i] = load_float(kType, data, i);
}

// Codes as MLX packs them: little-endian words filled from their lowest bits, which makes a row one
// stream of bits. A code of 3, 5 or 6 bits may lie in two bytes.
uint32_t affine_code(const std::byte* row, size_t column, size_t bits) {
  const size_t first_bit = column * bits;
  uint32_t code = 0;
  for (size_t i = 0; i < bits; ++i) {
    const size_t bit = first_bit + i;
    code |= (std::to_integer<uint32_t>(row[bit / 8] >> (bit % 8)) & 1u) << i;
  }
  return code;
}

void decode_affine(const WeightView& weight, size_t row, std::span<float> values) {
  const auto group_size = static_cast<size_t>(weight.group_size);
  const auto bits = static_cast<size_t>(code_bits(weight.format));
  const std::byte* codes = weight.data + row * weight.row_bytes();
  const size_t first_group = row * weight.n_groups();
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t group = first_group + i / group_size;
    values[i] = std::fma(load_float(weight.scale_type, weight.scales, group),
                         static_cast<float>(affine_code(codes, i, bits)),
                         load_float(weight.scale_type, weight.biases, group));
  }
}

void decode_fp8_block(const WeightView& weight, size_t row, std::span<float> values) {
  const std::byte* codes = weight.data + row * weight.row_bytes();
  const size_t first_scale = row / kFp8BlockRows * weight.n_groups();
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t scale = first_scale + i / kFp8BlockColumns;
    values[i] = e4m3_to_float(load<uint8_t>(codes, i)) *
                load_float(weight.scale_type, weight.scales, scale);
  }
}

enum class Scales : uint8_t { kNone, kRows, kBlocks };

struct FormatRow {
  WeightFormat format;
  std::string_view name;
  int32_t code_bits;
  Scales scales;
  void (*decode)(const WeightView& weight, size_t row, std::span<float> values);
};

// In the order of the enumeration, so that a format is its own row number.
constexpr std::array kFormats = {
    FormatRow{WeightFormat::kF32, "f32", 32, Scales::kNone, decode_elements<DType::kF32>},
    FormatRow{WeightFormat::kF16, "f16", 16, Scales::kNone, decode_elements<DType::kF16>},
    FormatRow{WeightFormat::kBF16, "bf16", 16, Scales::kNone, decode_elements<DType::kBF16>},
    FormatRow{WeightFormat::kAffine2, "affine2", 2, Scales::kRows, decode_affine},
    FormatRow{WeightFormat::kAffine3, "affine3", 3, Scales::kRows, decode_affine},
    FormatRow{WeightFormat::kAffine4, "affine4", 4, Scales::kRows, decode_affine},
    FormatRow{WeightFormat::kAffine5, "affine5", 5, Scales::kRows, decode_affine},
    FormatRow{WeightFormat::kAffine6, "affine6", 6, Scales::kRows, decode_affine},
    FormatRow{WeightFormat::kAffine8, "affine8", 8, Scales::kRows, decode_affine},
    FormatRow{WeightFormat::kFp8Block, "fp8_block", 8, Scales::kBlocks, decode_fp8_block},
};

static_assert(is_in_order(kFormats, &FormatRow::format) && kFormats.size() == kWeightFormatCount);

const FormatRow& row_of(WeightFormat format) { return kFormats[static_cast<size_t>(format)]; }

}  // namespace

std::string_view name(WeightFormat format) { return row_of(format).name; }

int32_t code_bits(WeightFormat format) { return row_of(format).code_bits; }

std::optional<WeightFormat> affine_format(int32_t bits) {
  for (const FormatRow& row : kFormats) {
    if (row.scales == Scales::kRows && row.code_bits == bits) return row.format;
  }
  return std::nullopt;
}

float load_float(DType dtype, const std::byte* data, size_t index) {
  switch (dtype) {
    case DType::kF32:
      return load<float>(data, index);
    case DType::kF16:
      return half_to_float(load<uint16_t>(data, index));
    case DType::kBF16:
      return to_float(load<BFloat16>(data, index));
    default:
      SLIP_CHECK(false);
  }
}

void store_float(DType dtype, std::byte* data, size_t index, float value) {
  const auto store = [&](auto element) {
    std::memcpy(data + index * sizeof(element), &element, sizeof(element));
  };
  switch (dtype) {
    case DType::kF32:
      return store(value);
    case DType::kF16:
      return store(float_to_half(value));
    case DType::kBF16:
      return store(to_bfloat16(value));
    default:
      SLIP_CHECK(false);
  }
}

size_t WeightView::row_bytes() const {
  return static_cast<size_t>(n_in) * static_cast<size_t>(code_bits(format)) / 8;
}

size_t WeightView::n_groups() const {
  return group_size == 0 ? 0 : static_cast<size_t>((n_in + group_size - 1) / group_size);
}

size_t WeightView::n_scale_rows() const {
  switch (row_of(format).scales) {
    case Scales::kNone:
      return 0;
    case Scales::kRows:
      return static_cast<size_t>(n_out);
    case Scales::kBlocks:
      return static_cast<size_t>((n_out + kFp8BlockRows - 1) / kFp8BlockRows);
  }
  SLIP_CHECK(false);
}

size_t WeightView::scale_row_bytes() const { return n_groups() * element_bytes(scale_type); }

size_t WeightView::n_bytes() const {
  const size_t n_scales = (scales != nullptr ? 1u : 0u) + (biases != nullptr ? 1u : 0u);
  return static_cast<size_t>(n_out) * row_bytes() + n_scales * n_scale_rows() * scale_row_bytes();
}

void dequantize_row(const WeightView& weight, int32_t row, std::span<float> values) {
  SLIP_CHECK(row >= 0 && row < weight.n_out);
  SLIP_CHECK(values.size() == static_cast<size_t>(weight.n_in));
  SLIP_CHECK(row_of(weight.format).scales == Scales::kNone || weight.group_size > 0);
  row_of(weight.format).decode(weight, static_cast<size_t>(row), values);
}

WeightView slice_rows(const WeightView& weight, int32_t begin, int32_t n_rows) {
  SLIP_CHECK(begin >= 0 && n_rows >= 0 && n_rows <= weight.n_out - begin);
  const bool is_in_blocks = row_of(weight.format).scales == Scales::kBlocks;
  SLIP_CHECK(!is_in_blocks || begin % kFp8BlockRows == 0);
  WeightView slice = weight;
  slice.n_out = n_rows;
  slice.data += static_cast<size_t>(begin) * weight.row_bytes();
  const auto scale_row = static_cast<size_t>(is_in_blocks ? begin / kFp8BlockRows : begin);
  if (weight.scales != nullptr) slice.scales += scale_row * weight.scale_row_bytes();
  if (weight.biases != nullptr) slice.biases += scale_row * weight.scale_row_bytes();
  return slice;
}

}  // namespace slip
