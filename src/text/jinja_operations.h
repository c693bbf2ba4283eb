// What Python's operators do with values. Each accounts for its work in `run` and fails there on
// values that it does not take.
#pragma once

#include <string>

#include "text/jinja_run.h"
#include "text/jinja_value.h"

namespace slip::jinja {

// str(value): what printing shows. Empty for undefined.
std::string to_text(Run& run, const Value& value);

bool are_equal(Run& run, const Value& a, const Value& b);
// Negative, 0 or positive: numbers by size, strings by code points, lists element by element.
int compare(Run& run, const Value& a, const Value& b);
// element in container
bool contains(Run& run, const Value& container, const Value& element);

Value add(Run& run, const Value& a, const Value& b);
Value subtract(Run& run, const Value& a, const Value& b);
Value concatenate(Run& run, const Value& a, const Value& b);
Value negate(Run& run, const Value& value);
Value plus(Run& run, const Value& value);

// object[key] and object.key; undefined if there is no such thing in it.
Value element(Run& run, const Value& object, const Value& key);

// The number of elements, entries or characters.
int64_t length(Run& run, const Value& value);

// A string, accounted for.
Value make_string(Run& run, std::string_view text);

}  // namespace slip::jinja
