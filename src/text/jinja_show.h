// Values as text: Python's str, repr and json.dumps.
#pragma once

#include <optional>
#include <string>

#include "text/jinja_run.h"
#include "text/jinja_value.h"

namespace slip::jinja {

// str(value): what printing shows. Empty for undefined. Fails for what Python shows with an
// address.
Text to_text(Run& run, const Value& value);
// repr(value)
Text to_repr(Run& run, const Value& value);

// The shortest decimal that reads back as `value`, in Python's spelling: 1.0, 1e-05, inf.
std::string float_repr(double value);

struct JsonStyle {
  bool is_ascii = false;  // everything else as \u escapes
  bool has_sorted_keys = false;
  std::optional<Text> maybe_indent;   // one line per element, indented by this per level
  std::optional<Text> maybe_between;  // the separator of elements; default ", ", or "," if indented
  std::optional<Text> maybe_colon;    // default ": "
};

// json.dumps(value). Fails for what JSON cannot say.
Text to_json(Run& run, const Value& value, const JsonStyle& style);

}  // namespace slip::jinja
