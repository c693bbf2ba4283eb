// The two ways in which Python puts values into a string.
#pragma once

#include "text/jinja_builtins.h"
#include "text/jinja_run.h"
#include "text/jinja_value.h"

namespace slip::jinja {

// format % values: %s %r %d %i %x %X %f %e %% with flags, width and precision. Others are refused.
Text format_printf(Run& run, const Value& format, const Value& values);

// format.format(arguments): {}, {0} and {name}, with {{ and }}. Format specifications, conversions
// and members are refused.
Text format_braces(Run& run, const Text& format, const Arguments& arguments);

}  // namespace slip::jinja
