#include "text/jinja_strings.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <utf8proc.h>

#include "text/jinja_source_error.h"
#include "text/unicode.h"

namespace slip::jinja {
namespace {

struct SimpleEscape {
  char name, value;
};
constexpr std::array kSimpleEscapes = {
    SimpleEscape{'n', '\n'}, SimpleEscape{'t', '\t'},  SimpleEscape{'r', '\r'},
    SimpleEscape{'a', '\a'}, SimpleEscape{'b', '\b'},  SimpleEscape{'f', '\f'},
    SimpleEscape{'v', '\v'}, SimpleEscape{'\\', '\\'}, SimpleEscape{'\'', '\''},
    SimpleEscape{'"', '"'},
};

struct NumericEscape {
  char name;
  size_t n_digits;
};
constexpr std::array kNumericEscapes = {NumericEscape{'x', 2}, NumericEscape{'u', 4},
                                        NumericEscape{'U', 8}};

constexpr bool is_octal(char c) { return c >= '0' && c <= '7'; }
constexpr bool is_scalar(uint32_t value) {
  return value <= 0x10FFFF && (value < 0xD800 || value > 0xDFFF);
}

// One escape behind its backslash. Appends its value and returns its length.
class EscapeReader {
 public:
  EscapeReader(const std::string& origin, int line) : origin_(origin), line_(line) {}

  size_t read(std::string_view rest, std::string& out) const {
    const char name = rest[0];
    if (name == '\n') return 1;
    if (is_octal(name)) return read_octal(rest, out);
    if (name == 'N') unsupported(origin_, line_, "escape '\\N'");
    for (const auto& [simple, value] : kSimpleEscapes) {
      if (simple != name) continue;
      out.push_back(value);
      return 1;
    }
    for (const auto& [numeric, n_digits] : kNumericEscapes) {
      if (numeric == name) return 1 + read_number(rest.substr(1, n_digits), n_digits, out);
    }
    out.push_back('\\');  // Python keeps unknown escapes as they stand
    return 0;
  }

 private:
  static size_t read_octal(std::string_view rest, std::string& out) {
    size_t n_digits = 0;
    uint32_t value = 0;
    while (n_digits < std::min<size_t>(3, rest.size()) && is_octal(rest[n_digits])) {
      value = value * 8 + static_cast<uint32_t>(rest[n_digits++] - '0');
    }
    append_utf8(out, value);
    return n_digits;
  }

  size_t read_number(std::string_view digits, size_t n_digits, std::string& out) const {
    uint32_t value = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    const bool is_whole = digits.size() == n_digits && read.ptr == digits.data() + digits.size();
    if (!is_whole || !is_scalar(value)) {
      syntax_error(origin_, line_,
                   "escape with '" + std::string(digits) + "', wanted " + std::to_string(n_digits) +
                       " hex digits of a character");
    }
    append_utf8(out, value);
    return n_digits;
  }

  const std::string& origin_;
  int line_;
};

bool is_printable(char32_t value) {
  if (value == U' ') return true;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(value))) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
      return false;
    default:
      return true;
  }
}

void append_hex(std::string& out, char32_t value) {
  const NumericEscape& escape = kNumericEscapes[value <= 0xFF ? 0 : value <= 0xFFFF ? 1 : 2];
  out += {'\\', escape.name};
  for (size_t i = escape.n_digits; i-- > 0;)
    out.push_back("0123456789abcdef"[value >> 4 * i & 0xF]);
}

// One character of a repr between `quote`s.
void append_repr(std::string& out, std::string_view character, char quote) {
  struct ShortEscape {
    char32_t value;
    std::string_view spelling;
  };
  constexpr std::array kShortEscapes = {ShortEscape{U'\n', "\\n"}, ShortEscape{U'\r', "\\r"},
                                        ShortEscape{U'\t', "\\t"}, ShortEscape{U'\\', "\\\\"}};
  const char32_t value = first_code_point(character).value;
  for (const ShortEscape& escape : kShortEscapes) {
    if (escape.value != value) continue;
    out += escape.spelling;
    return;
  }
  if (!is_printable(value)) return append_hex(out, value);
  if (character[0] == quote) out.push_back('\\');
  out += character;
}

// Where str.splitlines ends a line.
constexpr bool is_line_end(char32_t value) {
  return (value >= U'\n' && value <= U'\r') || (value >= 0x1C && value <= 0x1E) || value == 0x85 ||
         value == 0x2028 || value == 0x2029;
}

// The bytes at the front (or back) of `text` whose characters are to go.
template <class IsGone>
size_t gone_at_front(std::string_view text, IsGone is_gone) {
  size_t n_gone = 0;
  while (n_gone < text.size()) {
    const auto n_bytes = static_cast<size_t>(first_code_point(text.substr(n_gone)).n_bytes);
    if (!is_gone(text.substr(n_gone, n_bytes))) break;
    n_gone += n_bytes;
  }
  return n_gone;
}
template <class IsGone>
size_t gone_at_end(std::string_view text, IsGone is_gone) {
  size_t n_kept = text.size();
  while (n_kept > 0) {
    const auto n_bytes = static_cast<size_t>(last_code_point_bytes(text.substr(0, n_kept)));
    if (!is_gone(text.substr(n_kept - n_bytes, n_bytes))) break;
    n_kept -= n_bytes;
  }
  return text.size() - n_kept;
}

bool is_space(std::string_view character) {
  return is_python_space(first_code_point(character).value);
}

}  // namespace

std::string unescape(std::string_view literal, const std::string& origin, int line) {
  std::string out;
  const EscapeReader escapes(origin, line);
  for (size_t i = 0; i < literal.size();) {
    if (literal[i] != '\\' || i + 1 == literal.size()) {
      out.push_back(literal[i++]);
    } else {
      ++i;
      i += escapes.read(literal.substr(i), out);
    }
  }
  return out;
}

size_t python_spaces_at_front(std::string_view text) { return gone_at_front(text, is_space); }
size_t python_spaces_at_end(std::string_view text) { return gone_at_end(text, is_space); }

std::string_view strip(std::string_view text, std::optional<std::string_view> maybe_chars,
                       Ends ends) {
  const auto is_gone = [&](std::string_view character) {
    return maybe_chars ? maybe_chars->find(character) != std::string_view::npos
                       : is_space(character);
  };
  if (ends.front) text.remove_prefix(gone_at_front(text, is_gone));
  if (ends.back) text.remove_suffix(gone_at_end(text, is_gone));
  return text;
}

size_t n_code_points(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

std::optional<std::string_view> code_point_at(std::string_view text, int64_t position) {
  if (position < 0) position += static_cast<int64_t>(n_code_points(text));
  if (position < 0) return std::nullopt;
  while (!text.empty()) {
    const auto n_bytes = static_cast<size_t>(first_code_point(text).n_bytes);
    if (position-- == 0) return text.substr(0, n_bytes);
    text.remove_prefix(n_bytes);
  }
  return std::nullopt;
}

size_t byte_offset(std::string_view text, size_t position) {
  size_t at = 0;
  while (position-- > 0) at += static_cast<size_t>(first_code_point(text.substr(at)).n_bytes);
  return at;
}

std::vector<size_t> code_point_offsets(std::string_view text) {
  std::vector<size_t> offsets;
  for (size_t at = 0; at < text.size();) {
    offsets.push_back(at);
    at += static_cast<size_t>(first_code_point(text.substr(at)).n_bytes);
  }
  offsets.push_back(text.size());
  return offsets;
}

Text repr(const Text& text) {
  const bool has_single = text.bytes().find('\'') != std::string::npos;
  const bool has_double = text.bytes().find('"') != std::string::npos;
  const char quote = has_single && !has_double ? '"' : '\'';
  Text out(std::string(1, quote));
  text.visit_runs([&](std::string_view bytes, Origin origin) {
    std::string escaped;
    while (!bytes.empty()) {
      const CodePoint c = first_code_point(bytes);
      append_repr(escaped, bytes.substr(0, static_cast<size_t>(c.n_bytes)), quote);
      bytes.remove_prefix(static_cast<size_t>(c.n_bytes));
    }
    out.append(escaped, origin);
  });
  out.append(std::string_view(&quote, 1), Origin::kTemplate);
  return out;
}

std::vector<std::string_view> lines_of(std::string_view text, bool keeps_ends) {
  std::vector<std::string_view> lines;
  size_t begin = 0;
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = first_code_point(text.substr(at));
    size_t end = at + static_cast<size_t>(c.n_bytes);
    if (is_line_end(c.value)) {
      if (c.value == U'\r' && text.substr(end).starts_with('\n')) ++end;
      lines.push_back(text.substr(begin, (keeps_ends ? end : at) - begin));
      begin = end;
    }
    at = end;
  }
  if (begin < text.size()) lines.push_back(text.substr(begin));
  return lines;
}

}  // namespace slip::jinja
