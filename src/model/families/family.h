// A model family: how its config.json is read and where its tensors lie. Adding one:
// docs/adding/model.md.
#pragma once

#include <span>
#include <string_view>

#include <nlohmann/json.hpp>

#include "model/config.h"
#include "model/tensor_finder.h"
#include "model/weights.h"

namespace slip {

struct Family {
  std::string_view model_type;  // as config.json spells it
  // Throws Error{kUnsupportedModel} naming the key.
  ModelConfig (*parse_config)(const nlohmann::json& config);
  // Throws as TensorFinder does.
  ModelWeights (*find_weights)(const ModelConfig& config, TensorFinder& finder);
};

// All of them.
std::span<const Family> families();

// The family that claims the configuration's model_type. Throws Error{kUnsupportedModel} naming
// all.
const Family& find_family(const nlohmann::json& config);

}  // namespace slip
