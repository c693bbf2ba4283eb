// Qwen3-Next: the layers of Qwen3.5 with experts, a flat configuration and fused projections.
#pragma once

#include <nlohmann/json.hpp>

#include "model/config.h"
#include "model/tensor_finder.h"
#include "model/weights.h"

namespace slip::qwen3_next {

// Throws Error{kUnsupportedModel} naming the key.
ModelConfig parse_config(const nlohmann::json& config);

ModelWeights find_weights(const ModelConfig& config, TensorFinder& finder);

}  // namespace slip::qwen3_next
