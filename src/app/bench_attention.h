// What attention of one layer costs by rows.
#pragma once

#include <string>

#include "app/options.h"

namespace slip {

// QxKxD, like "24x4x256": query heads, KV heads, head dim. Throws Error{kInvalidArgument} for what
// is no such shape.
AttentionShape parse_shape(const std::string& text);

}  // namespace slip
