// How much a chat template may ask for. Hitting a limit is an Error that names it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace slip::jinja {

struct Limits {
  size_t template_bytes_max = 1 << 20;
  int nesting_max = 128;       // of statements, and of expressions, as written
  int value_nesting_max = 64;  // of lists in lists, as computed or handed in
  int depth_max = 400;         // of statements and expressions inside one another, as run: macros
                               // that call themselves end here, long before the stack does
  int64_t steps_max = 20'000'000;  // expressions, list elements, 64 bytes of a string
  int64_t range_max = 100'000;     // elements of one range(); jinja2's sandbox has the same limit
  size_t output_bytes_max = size_t{64} << 20;
  size_t made_bytes_max = size_t{256} << 20;  // of all strings and lists computed on the way
};

}  // namespace slip::jinja
