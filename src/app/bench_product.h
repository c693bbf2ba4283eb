// What a product with one matrix costs by rows.
#pragma once

#include <string>

#include "app/options.h"

namespace slip {

// OxI, like "17408x5120": outputs, inputs. Throws Error{kInvalidArgument} for what is no such
// shape.
MatrixShape parse_matrix(const std::string& text);

}  // namespace slip
