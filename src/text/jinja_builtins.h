// The names that templates may use behind "|", "is", "." and as functions. One table each: adding a
// name is adding a row in jinja_builtins.cc.
#pragma once

#include <span>
#include <string_view>

#include "text/jinja_run.h"
#include "text/jinja_value.h"

namespace slip::jinja {

struct Builtin {
  std::string_view name;
  size_t n_args_min,
      n_args_max;  // between its parentheses; the value it is applied to is not counted
  // The value that a filter, test or method is applied to comes first in `args`.
  Value (*call)(Run& run, std::span<const Value> args);
};

// nullptr: no such name.
const Builtin* find_filter(std::string_view name);
const Builtin* find_test(std::string_view name);
const Builtin* find_method(std::string_view name);
const Builtin* find_function(std::string_view name);

}  // namespace slip::jinja
