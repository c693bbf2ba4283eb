// Strings as Python sees them: escapes, white space, repr, upper and lower case. All take and give
// valid UTF-8.
#pragma once

#include <optional>
#include <string>
#include <string_view>

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

// How Python shows a string inside a list: quoted and escaped.
std::string repr(std::string_view text);

// Python's upper and lower for characters whose other case is one character, whatever stands around
// it; nothing if one is not (sharp s, final sigma).
std::optional<std::string> upper(std::string_view text);
std::optional<std::string> lower(std::string_view text);

}  // namespace slip::jinja
