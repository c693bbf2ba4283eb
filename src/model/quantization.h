// What config.json says about how matrices are stored. The tensors decide (a module with scales is
// quantised); the configuration has to agree with them.
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

namespace slip {

// Throws Error{kUnsupportedModel} naming a method that is neither MLX affine nor block FP8 (E4M3,
// 128 x 128): "quantization" is MLX's key, "quantization_config" Hugging Face's.
void require_known_quantization(const nlohmann::json& config);

struct AffineParameters {
  int32_t group_size = 64;
  int32_t bits = 0;
};

// Of one module with scales: its own entry decides, without one the global parameters do.
// Throws Error{kUnsupportedModel} for a mode, width or group size that is not known,
// Error{kCorruptFile} where the configuration says that the module is not quantised.
AffineParameters read_affine(const nlohmann::json& config, const std::string& module);

}  // namespace slip
