// JSON as values of templates.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "text/jinja_limits.h"
#include "text/jinja_text.h"
#include "text/jinja_value.h"

namespace slip::jinja {

// `origin` is where the strings in it come from, `name` is what errors call it. Throws
// Error{kInvalidArgument} for what nests deeper than Limits::value_nesting_max and for integers
// beyond 64 bits.
Value to_value(const nlohmann::ordered_json& json, Origin origin, const std::string& name,
               const Limits& limits);

// So for an array of messages, whose roles count as the template's where every template knows them.
Value to_messages(const nlohmann::ordered_json& json, const std::string& name,
                  const Limits& limits);

}  // namespace slip::jinja
