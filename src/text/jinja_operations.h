// What Python's operators do with values. Each accounts for its work in `run` and fails there on
// values that it does not take.
#pragma once

#include <optional>
#include <string>

#include "text/jinja_run.h"
#include "text/jinja_value.h"

namespace slip::jinja {

bool are_equal(Run& run, const Value& a, const Value& b);
// Negative, 0 or positive: numbers by size, strings by code points, lists element by element.
int compare(Run& run, const Value& a, const Value& b);
// element in container
bool contains(Run& run, const Value& container, const Value& element);

Value add(Run& run, const Value& a, const Value& b);
Value subtract(Run& run, const Value& a, const Value& b);
Value multiply(Run& run, const Value& a, const Value& b);
Value divide(Run& run, const Value& a, const Value& b);
Value floor_divide(Run& run, const Value& a, const Value& b);
Value modulo(Run& run, const Value& a, const Value& b);  // of a string: printf formatting
Value power(Run& run, const Value& a, const Value& b);
Value concatenate(Run& run, const Value& a, const Value& b);  // str(a) + str(b)
Value negate(Run& run, const Value& value);
Value plus(Run& run, const Value& value);

// Python's numbers are one tower: booleans count as integers, and integers as floats. Nothing for
// other kinds.
std::optional<int64_t> as_integer(const Value& value);
std::optional<double> as_float(const Value& value);

// '&', '<', '>' and both quotes as HTML writes them; a string that is markup stays as it is.
Text escape_html(Run& run, const Value& value);

// Fails with "'WHAT' between A and B".
[[noreturn]] void fail_between(Run& run, std::string_view what, const Value& a, const Value& b);

}  // namespace slip::jinja
