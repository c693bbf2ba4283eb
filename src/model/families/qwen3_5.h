// Qwen3.5, 3.6 and 3.8, dense and with experts: keys of config.json and tensor names.
#pragma once

#include <nlohmann/json.hpp>

#include "model/config.h"
#include "model/tensor_finder.h"
#include "model/weights.h"

namespace slip::qwen3_5 {

// Nested (text_config) or flat configurations. Throws Error{kUnsupportedModel} naming the key.
ModelConfig parse_config(const nlohmann::json& config);      // qwen3_5
ModelConfig parse_moe_config(const nlohmann::json& config);  // qwen3_5_moe

ModelWeights find_weights(const ModelConfig& config, TensorFinder& finder);

}  // namespace slip::qwen3_5
