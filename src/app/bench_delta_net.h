// What the delta net of one layer costs by rows.
#pragma once

#include <string>

#include "app/options.h"

namespace slip {

// KxVxDxE, like "16x48x128x128": key heads, value heads, key dim, value dim. Throws
// Error{kInvalidArgument} for what is no such shape.
DeltaNetShape parse_delta_net_shape(const std::string& text);

}  // namespace slip
