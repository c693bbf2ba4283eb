// Runs a parsed template.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "text/jinja_ast.h"
#include "text/jinja_limits.h"
#include "text/jinja_run.h"
#include "text/jinja_text.h"
#include "text/jinja_value.h"

namespace slip::jinja {

using Variables = std::vector<std::pair<std::string, Value>>;

// The text that `program` prints. Throws Error{kInvalidArgument} when the template raises an
// exception, does something undefined, or hits a limit, and Error{kUnsupportedModel} when it turns
// out to need something that is not known; both with `origin` and line.
Text render(const Block& program, const Variables& variables, const std::string& origin,
            const Limits& limits, std::chrono::local_seconds now = {});

}  // namespace slip::jinja
