// The families with plain attention in every layer: Llama, Qwen2, Qwen3 and Qwen3 with experts.
// They differ in what stands around the same attention.
#pragma once

#include <nlohmann/json.hpp>

#include "model/config.h"
#include "model/tensor_finder.h"
#include "model/weights.h"

namespace slip::llama {

// `model_type` is one of those above. Throws Error{kUnsupportedModel} naming the key.
ModelConfig parse_config(const nlohmann::json& config);

ModelWeights find_weights(const ModelConfig& config, TensorFinder& finder);

}  // namespace slip::llama
