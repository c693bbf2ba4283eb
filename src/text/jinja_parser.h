// Jinja source to a tree, by recursive descent with the precedence of Jinja2.
#pragma once

#include <string>
#include <string_view>

#include "text/jinja_ast.h"
#include "text/jinja_limits.h"

namespace slip::jinja {

// Throws Error{kCorruptFile} for what is no Jinja and Error{kUnsupportedModel} for Jinja that is
// not implemented, naming it; both with `origin` and line. Also when a limit is hit.
Block parse(std::string_view source, const std::string& origin, const Limits& limits);

}  // namespace slip::jinja
