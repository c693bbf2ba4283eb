#include "tensor/dtype.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/enum_table.h"

namespace slip {
namespace {

struct DTypeRow {
  DType dtype;
  std::string_view name;
  size_t n_bytes;
};

// In the order of the enumeration, so that a type is its own row number.
constexpr std::array kDTypes = {
    DTypeRow{DType::kF32, "F32", 4},        DTypeRow{DType::kF16, "F16", 2},
    DTypeRow{DType::kBF16, "BF16", 2},      DTypeRow{DType::kF64, "F64", 8},
    DTypeRow{DType::kI8, "I8", 1},          DTypeRow{DType::kU8, "U8", 1},
    DTypeRow{DType::kI16, "I16", 2},        DTypeRow{DType::kU16, "U16", 2},
    DTypeRow{DType::kI32, "I32", 4},        DTypeRow{DType::kU32, "U32", 4},
    DTypeRow{DType::kI64, "I64", 8},        DTypeRow{DType::kU64, "U64", 8},
    DTypeRow{DType::kBool, "BOOL", 1},      DTypeRow{DType::kF8E4M3, "F8_E4M3", 1},
    DTypeRow{DType::kF8E5M2, "F8_E5M2", 1},
};

static_assert(is_in_order(kDTypes, &DTypeRow::dtype));

const DTypeRow& row(DType dtype) { return kDTypes[static_cast<size_t>(dtype)]; }

}  // namespace

size_t element_bytes(DType dtype) { return row(dtype).n_bytes; }

std::string_view name(DType dtype) { return row(dtype).name; }

std::optional<DType> parse_dtype(std::string_view name) {
  const auto* found = std::ranges::find(kDTypes, name, &DTypeRow::name);
  if (found == kDTypes.end()) return std::nullopt;
  return found->dtype;
}

BFloat16 to_bfloat16(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  if (std::isnan(x)) {
    // Rounding could carry a NaN into infinity; the quiet bit keeps the cut mantissa from being
    // zero.
    return {static_cast<uint16_t>((bits >> 16) | 0x0040)};
  }
  const uint32_t is_odd = (bits >> 16) & 1;
  return {static_cast<uint16_t>((bits + 0x7FFF + is_odd) >> 16)};
}

float half_to_float(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1F;
  const uint32_t mantissa = bits & 0x3FF;
  if (exponent == 0) {
    const auto magnitude = std::bit_cast<uint32_t>(static_cast<float>(mantissa) * 0x1p-24f);
    return std::bit_cast<float>(sign | magnitude);
  }
  const uint32_t exponent_f32 = exponent == 0x1F ? 0xFF : exponent + (127 - 15);
  return std::bit_cast<float>(sign | (exponent_f32 << 23) | (mantissa << 13));
}

uint16_t float_to_half(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  const uint32_t sign = (bits >> 16) & 0x8000;
  const uint32_t magnitude = bits & 0x7FFFFFFF;
  constexpr uint32_t kSmallestNormal = (127 - 14) << 23;
  constexpr uint32_t kInfinity = 0x7F800000;
  if (magnitude > kInfinity)
    return static_cast<uint16_t>(sign | 0x7E00 | ((magnitude >> 13) & 0x1FF));
  if (magnitude < kSmallestNormal) {
    // Adding 2^-1 leaves the rounded multiple of 2^-24 in the low bits.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) & 0x7FF));
  }
  const uint32_t is_odd = (magnitude >> 13) & 1;
  const uint32_t rounded = ((magnitude + 0xFFF + is_odd) >> 13) - ((127 - 15) << 10);
  return static_cast<uint16_t>(sign | std::min<uint32_t>(rounded, 0x7C00));
}

float e4m3_to_float(uint8_t bits) {
  const uint32_t magnitude = bits & 0x7Fu;
  if (magnitude == 0x7F) return std::numeric_limits<float>::quiet_NaN();
  // Exponent and mantissa land in those of a float whose bias is 120 too small; exact, subnormals
  // too.
  const float value = std::bit_cast<float>(magnitude << 20) * 0x1p120f;
  return (bits & 0x80) != 0 ? -value : value;
}

}  // namespace slip
