// Sizes of published models, to measure what they would cost without their weights.
#pragma once

#include <string_view>
#include <vector>

#include "model/config.h"

namespace slip {

// In the order of their size.
std::vector<std::string_view> model_shapes();

// The trunk of the model of that name, without a draft head. Throws Error{kInvalidArgument} listing
// the names there are.
ModelConfig shape_config(std::string_view name);

}  // namespace slip
