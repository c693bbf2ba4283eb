// Element types of files and their conversion to float.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace slip {

enum class DType : uint8_t {
  kF32,
  kF16,
  kBF16,
  kF64,
  kI8,
  kU8,
  kI16,
  kU16,
  kI32,
  kU32,
  kI64,
  kU64,
  kBool,
  kF8E4M3,
  kF8E5M2
};

size_t element_bytes(DType dtype);

// The spelling of safetensors: "F32", "BF16", "U32", "F8_E4M3", ...
std::string_view name(DType dtype);
std::optional<DType> parse_dtype(std::string_view name);

// F32, F16 or BF16: what weights and scales come in where they are not packed.
constexpr bool is_plain_float(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}

struct BFloat16 {
  uint16_t bits;
};

inline float to_float(BFloat16 x) {
  return std::bit_cast<float>(static_cast<uint32_t>(x.bits) << 16);
}

// Nearest, ties to even; NaN stays NaN.
BFloat16 to_bfloat16(float x);

// IEEE binary16, subnormals included.
float half_to_float(uint16_t bits);

// Nearest, ties to even; beyond the range infinity, NaN stays NaN.
uint16_t float_to_half(float x);

// E4M3 as checkpoints store it ("fn": no infinities, 0x7F and 0xFF are NaN), subnormals included.
float e4m3_to_float(uint8_t bits);

}  // namespace slip
