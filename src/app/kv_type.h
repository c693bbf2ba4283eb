// The spelling of cache types on the command line.
#pragma once

#include <optional>
#include <string_view>

#include "tensor/dtype.h"

namespace slip {

// f32, f16 or bf16.
constexpr std::optional<DType> parse_kv_type(std::string_view name) {
  if (name == "f32") return DType::kF32;
  if (name == "f16") return DType::kF16;
  if (name == "bf16") return DType::kBF16;
  return std::nullopt;
}

}  // namespace slip
