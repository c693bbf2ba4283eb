// What a product with one matrix costs by rows.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "app/options.h"

namespace slip {

// OxI, like "17408x5120": outputs, inputs. Throws Error{kInvalidArgument} for what is no such
// shape.
MatrixShape parse_matrix(const std::string& text);

CLI::Validator product_format();  // q8, q4, bf16, fp8

}  // namespace slip
