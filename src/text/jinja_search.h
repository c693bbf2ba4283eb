// Finding, replacing and splitting in strings, as Python's methods do.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/jinja_run.h"
#include "text/jinja_text.h"

namespace slip::jinja {

// Byte offset of the first `part` at or behind `begin`; npos if there is none. Linear for every
// input, unlike std::string::find.
size_t find_first(std::string_view text, std::string_view part, size_t begin);
// Byte offset of the last `part` that ends at or before `end`. Linear, too.
size_t find_last(std::string_view text, std::string_view part, size_t end);

// How many there are, none overlapping; one more than there are characters if `part` is empty.
int64_t count_of(std::string_view text, std::string_view part);

// `n_max` below 0: all.
Text replaced(Run& run, const Text& text, const Text& old_part, const Text& new_part,
              int64_t n_max);

struct SplitOptions {
  int64_t n_max = -1;  // splits; below 0: all
  bool from_end = false;
};
// Views into `text`.
std::vector<std::string_view> split_at(std::string_view text, std::string_view separator,
                                       const SplitOptions& options);
std::vector<std::string_view> split_at_spaces(std::string_view text, const SplitOptions& options);

}  // namespace slip::jinja
