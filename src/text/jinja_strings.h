// Strings as Python sees them: escapes, white space, repr, upper and lower case. All take and give
// valid UTF-8.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja_text.h"

namespace slip::jinja {

// The value of a string literal's inside. `origin` and `line` name the place in errors:
// Error{kCorruptFile} for a broken escape, Error{kUnsupportedModel} for \N{...}.
std::string unescape(std::string_view literal, const std::string& origin, int line);

size_t python_spaces_at_front(std::string_view text);
size_t python_spaces_at_end(std::string_view text);

// Which ends a strip works on.
struct Ends {
  bool front, back;
};
// str.strip: without `maybe_chars` white space goes, else every character that occurs in them.
std::string_view strip(std::string_view text, std::optional<std::string_view> maybe_chars,
                       Ends ends);

size_t n_code_points(std::string_view text);

// The character at `position`, counted from the end if negative; nothing outside of the text.
std::optional<std::string_view> code_point_at(std::string_view text, int64_t position);

// Where the `position`-th character begins, at most n_code_points(text).
size_t byte_offset(std::string_view text, size_t position);
// Where each character begins, and the end.
std::vector<size_t> code_point_offsets(std::string_view text);

// How Python shows a string inside a list: quoted and escaped.
Text repr(const Text& text);

// str.splitlines, line ends kept or not.
std::vector<std::string_view> lines_of(std::string_view text, bool keeps_ends);

}  // namespace slip::jinja
