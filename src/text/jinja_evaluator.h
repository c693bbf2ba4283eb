// Runs a parsed template.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja_ast.h"
#include "text/jinja_limits.h"
#include "text/jinja_value.h"

namespace slip::jinja {

using Variables = std::vector<std::pair<std::string, Value>>;

// The text that `program` prints. Throws Error{kInvalidArgument} with `origin` and line when the
// template raises an exception, does something undefined, or hits a limit.
std::string render(const Block& program, const Variables& variables, const std::string& origin,
                   const Limits& limits);

}  // namespace slip::jinja
