// The filters that make strings, numbers and single values.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "text/ascii.h"
#include "text/jinja_access.h"
#include "text/jinja_builtins.h"
#include "text/jinja_case.h"
#include "text/jinja_format.h"
#include "text/jinja_operations.h"
#include "text/jinja_search.h"
#include "text/jinja_show.h"
#include "text/jinja_strings.h"
#include "text/unicode.h"

namespace slip::jinja {
namespace {

// The subject as a string; HTML stays HTML.
Text soft_text(const Call& call) { return to_text(call.run, call.subject); }

template <Text (*kMap)(Run& run, const Text& text)>
Value case_filter(const Call& call) {
  return call.derived(kMap(call.run, soft_text(call)));
}

Value trim(const Call& call) {
  const Text text = soft_text(call);
  std::optional<std::string_view> maybe_chars;
  if (call.has(0) && !call[0].is<None>()) maybe_chars = call.text(0).bytes();
  call.run.step(text.size() * (1 + (maybe_chars ? maybe_chars->size() : 0)));
  return call.derived(text.part(strip(text.bytes(), maybe_chars, {true, true})));
}

Value string(const Call& call) { return call.derived(soft_text(call)); }

Value replace(const Call& call) {
  const int64_t n_max = call.has(2) && !call[2].is<None>() ? call.integer_or(2, -1) : -1;
  return Value(replaced(call.run, soft_text(call), to_text(call.run, call[0]),
                        to_text(call.run, call[1]), n_max));
}

// indent(width = 4, first = false, blank = false)
Value indent(const Call& call) {
  if (!call.subject.is_string()) call.run.fail("indent of " + std::string(call.subject.kind()));
  if (call.subject.is_markup()) call.run.refuse("indent of an escaped string");
  const Text indentation =
      call.has(0) && call[0].is_string()
          ? call.text(0)
          : multiply(call.run, Value(std::string(" ")), Value(call.integer_or(0, 4))).text();
  const std::string text = call.subject.string() + "\n";
  call.run.step(text.size());
  const auto lines = lines_of(text, false);
  Text out;
  for (size_t i = 0; i < lines.size(); ++i) {
    call.run.make(indentation.cost_bytes() + lines[i].size() + 1);
    if (i > 0) out.append("\n", Origin::kTemplate);
    const bool is_indented =
        i == 0 ? call.truth_or(1, false) : call.truth_or(2, false) || !lines[i].empty();
    if (is_indented) out.append(indentation);
    const auto begin = static_cast<size_t>(lines[i].data() - text.data());
    out.append(call.subject.text(), begin, lines[i].size());
  }
  return make_string(call.run, std::move(out));
}

Value center(const Call& call) {
  const Text text = soft_text(call);
  const int64_t width = call.integer_or(0, 80);
  const auto size = static_cast<int64_t>(n_code_points(text.bytes()));
  if (width <= size) return call.derived(text);
  const int64_t n_left = (width - size) / 2 + ((width - size) & width & 1);
  call.run.make(static_cast<size_t>(width));
  Text out(std::string(static_cast<size_t>(n_left), ' '));
  out.append(text);
  out.append(std::string(static_cast<size_t>(width - size - n_left), ' '), Origin::kTemplate);
  return call.derived(std::move(out));
}

Value word_count(const Call& call) {
  const Text text = soft_text(call);
  call.run.step(text.size());
  int64_t n_words = 0;
  bool is_inside = false;
  for (std::string_view rest = text.bytes(); !rest.empty();) {
    const CodePoint c = first_code_point(rest);
    const bool is_word = is_word_character(c.value);
    if (is_word && !is_inside) ++n_words;
    is_inside = is_word;
    rest.remove_prefix(static_cast<size_t>(c.n_bytes));
  }
  return Value(n_words);
}

Value format(const Call& call) {
  if (!call.arguments.named.empty()) call.run.refuse("filter 'format' with names");
  const Value values = make_list(call.run, call.arguments.positional, ListKind::kTuple);
  const Value text = call.subject.is_string() ? call.subject : Value(soft_text(call));
  return make_string(call.run, format_printf(call.run, text, values));
}

Value escape(const Call& call) { return Value(escape_html(call.run, call.subject), true); }
Value force_escape(const Call& call) {
  return Value(escape_html(call.run, Value(soft_text(call))), true);
}
Value safe(const Call& call) { return Value(soft_text(call), true); }

bool is_unreserved(char c) {
  return is_ascii_letter(c) || is_ascii_digit(c) ||
         std::string_view("_.-~").find(c) != std::string_view::npos;
}

void append_quoted(Run& run, Text& out, const Text& text, bool is_query) {
  run.make(3 * text.size());
  text.visit_runs([&](std::string_view bytes, Origin origin) {
    std::string quoted;
    for (const char c : bytes) {
      if (is_unreserved(c) || (c == '/' && !is_query)) {
        quoted += c;
      } else if (c == ' ' && is_query) {
        quoted += '+';
      } else {
        const auto byte = static_cast<unsigned char>(c);
        quoted += {'%', "0123456789ABCDEF"[byte >> 4], "0123456789ABCDEF"[byte & 0xF]};
      }
    }
    out.append(quoted, origin);
  });
}

Value url_encode(const Call& call) {
  Text out;
  const bool is_whole = call.subject.is_string() || !is_iterable(call.subject);
  if (is_whole) {
    append_quoted(call.run, out, soft_text(call), false);
    return Value(std::move(out));
  }
  Elements pairs = *elements_of(call.run, call.subject);
  if (call.subject.is<Mapping>()) {
    pairs.clear();
    for (const auto& [key, value] : call.subject.entries())
      pairs.emplace_back(Elements{key, value});
  }
  for (const Value& pair : pairs) {
    const auto parts = elements_of(call.run, pair);
    if (parts->size() != 2) call.run.fail("urlencode of something that is no pair");
    if (out.size() > 0) out.append("&", Origin::kTemplate);
    append_quoted(call.run, out, to_text(call.run, (*parts)[0]), true);
    out.append("=", Origin::kTemplate);
    append_quoted(call.run, out, to_text(call.run, (*parts)[1]), true);
  }
  return Value(std::move(out));
}

// tojson(ensure_ascii = false, indent = none, separators = none, sort_keys = false)
Value to_json_filter(const Call& call) {
  JsonStyle style{.is_ascii = call.truth_or(0, false), .has_sorted_keys = call.truth_or(3, false)};
  if (call.has(1) && !call[1].is<None>()) {
    style.maybe_indent =
        call[1].is_string()
            ? call.text(1)
            : multiply(call.run, Value(std::string(" ")), Value(call.integer_or(1, 0))).text();
  }
  if (call.has(2) && !call[2].is<None>()) {
    const auto separators = elements_of(call.run, call[2]);
    const bool are_two =
        separators->size() == 2 && (*separators)[0].is_string() && (*separators)[1].is_string();
    if (!are_two) call.run.fail("tojson with separators that are not two strings");
    style.maybe_between = (*separators)[0].text();
    style.maybe_colon = (*separators)[1].text();
  }
  return make_string(call.run, to_json(call.run, call.subject, style));
}

// Python's spelling of a number without spaces around and underscores inside; nothing for others.
std::optional<std::string> plain_number(std::string_view text) {
  text = strip(text, std::nullopt, {true, true});
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto is_digit_at = [&](size_t at) {
      return at < text.size() && is_ascii_digit(text[at]);
    };
    if (text[i] != '_') {
      plain += text[i];
    } else if (i == 0 || !is_digit_at(i - 1) || !is_digit_at(i + 1)) {
      return std::nullopt;
    }
  }
  if (plain.starts_with('+') && !plain.starts_with("+-")) plain.erase(0, 1);
  if (plain.empty()) return std::nullopt;
  return plain;
}

std::optional<double> parse_float(Run& run, std::string_view text) {
  const auto plain = plain_number(text);
  if (!plain) return std::nullopt;
  double value = 0;
  const auto read = std::from_chars(plain->data(), plain->data() + plain->size(), value);
  const bool is_whole = read.ptr == plain->data() + plain->size();
  if (is_whole && read.ec == std::errc::result_out_of_range) run.refuse("a number beyond a double");
  const bool has_payload = plain->find('(') != std::string::npos;  // nan(...) of the C library
  if (!is_whole || has_payload || read.ec != std::errc()) return std::nullopt;
  return value;
}

std::optional<int64_t> parse_integer(Run& run, std::string_view text) {
  const auto plain = plain_number(text);
  if (!plain) return std::nullopt;
  int64_t value = 0;
  const auto read = std::from_chars(plain->data(), plain->data() + plain->size(), value);
  const bool is_whole = read.ptr == plain->data() + plain->size();
  if (is_whole && read.ec == std::errc::result_out_of_range)
    run.refuse("an integer beyond 64 bits");
  if (!is_whole || read.ec != std::errc()) return std::nullopt;
  return value;
}

std::optional<int64_t> truncated(Run& run, double value) {
  if (!std::isfinite(value)) return std::nullopt;
  if (!(std::abs(value) < 9.2e18)) run.refuse("an integer beyond 64 bits");
  return static_cast<int64_t>(value);
}

// int(default = 0, base = 10)
Value to_integer(const Call& call) {
  Value stand_in = call.has(0) ? call[0] : Value(int64_t{0});
  if (call.subject.is<Undefined>()) call.run.fail("int of an undefined value");
  if (const auto exact = as_integer(call.subject)) return Value(*exact);
  std::optional<double> number = as_float(call.subject);
  if (call.subject.is_string()) {
    if (call.integer_or(1, 10) != 10) call.run.refuse("filter 'int' with another base than 10");
    if (const auto exact = parse_integer(call.run, call.subject.string())) return Value(*exact);
    number = parse_float(call.run, call.subject.string());
  }
  if (!number) return stand_in;
  const auto integer = truncated(call.run, *number);
  if (!integer && call.subject.is<double>() && std::isinf(*number)) call.run.fail("int of inf");
  return integer ? Value(*integer) : stand_in;
}

// float(default = 0.0)
Value to_float(const Call& call) {
  if (call.subject.is<Undefined>()) call.run.fail("float of an undefined value");
  std::optional<double> number = as_float(call.subject);
  if (call.subject.is_string()) number = parse_float(call.run, call.subject.string());
  if (number) return Value(*number);
  return call.has(0) ? call[0] : Value(0.0);
}

Value absolute(const Call& call) {
  if (call.subject.is<double>()) return Value(std::abs(call.subject.as<double>()));
  const auto integer = as_integer(call.subject);
  if (!integer) call.run.fail("abs of " + std::string(call.subject.kind()));
  return *integer < 0 ? negate(call.run, Value(*integer)) : Value(*integer);
}

// Rounded to so many decimals, ties to even, as Python does: through the exact decimal digits.
double rounded(double value, int n_decimals) {
  if (!std::isfinite(value)) return value;
  std::array<char, 400> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value,
                                 std::chars_format::fixed, n_decimals);
  double result = value;
  std::from_chars(digits.data(), end.ptr, result);
  return result;
}

// round(precision = 0, method = "common")
Value round(const Call& call) {
  const int64_t precision = call.integer_or(0, 0);
  const std::string method = call.has(1) ? call.text(1).bytes() : "common";
  const auto number = as_float(call.subject);
  if (!number) call.run.fail("round of " + std::string(call.subject.kind()));
  if (precision < 0 || precision > 15) {
    call.run.refuse("round to " + std::to_string(precision) + " decimals");
  }
  if (method == "common") {
    if (const auto integer = as_integer(call.subject)) return Value(*integer);
    return Value(rounded(*number, static_cast<int>(precision)));
  }
  if (method != "ceil" && method != "floor") call.run.fail("round by '" + method + "'");
  if (!std::isfinite(*number)) call.run.fail("round of inf or nan");
  const double scale = std::pow(10.0, static_cast<double>(precision));
  const double scaled = *number * scale;
  return Value((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / scale + 0.0);
}

Value length_filter(const Call& call) { return Value(length(call.run, call.subject)); }

// default(default_value = "", boolean = false)
Value default_filter(const Call& call) {
  const bool is_for_false = call.truth_or(1, false);
  const bool is_replaced =
      call.subject.is<Undefined>() || (is_for_false && !call.subject.is_true());
  if (!is_replaced) return call.subject;
  return call.has(0) ? call[0] : Value(std::string());
}

Value attr(const Call& call) { return own_attribute(call.run, call.subject, call.text(0).bytes()); }

constexpr Signature kDefault = {0, 2, {"default_value", "boolean"}};

constexpr std::array kStringFilters = {
    Builtin{"abs", kNoArguments, absolute},
    Builtin{"attr", {1, 1, {"name"}}, attr},
    Builtin{"capitalize", kNoArguments, case_filter<capitalize>},
    Builtin{"center", {0, 1, {"width"}}, center},
    Builtin{"count", kNoArguments, length_filter},
    Builtin{"d", kDefault, default_filter},
    Builtin{"default", kDefault, default_filter},
    Builtin{"e", kNoArguments, escape},
    Builtin{"escape", kNoArguments, escape},
    Builtin{"float", {0, 1, {"default"}}, to_float},
    Builtin{"forceescape", kNoArguments, force_escape},
    Builtin{"format", {0, Signature::kAny}, format},
    Builtin{"indent", {0, 3, {"width", "first", "blank"}}, indent},
    Builtin{"int", {0, 2, {"default", "base"}}, to_integer},
    Builtin{"length", kNoArguments, length_filter},
    Builtin{"lower", kNoArguments, case_filter<lower>},
    Builtin{"replace", {2, 3, {"old", "new", "count"}}, replace},
    Builtin{"round", {0, 2, {"precision", "method"}}, round},
    Builtin{"safe", kNoArguments, safe},
    Builtin{"string", kNoArguments, string},
    Builtin{"title", kNoArguments, case_filter<title_words>},
    Builtin{
        "tojson", {0, 4, {"ensure_ascii", "indent", "separators", "sort_keys"}}, to_json_filter},
    Builtin{"trim", {0, 1, {"chars"}}, trim},
    Builtin{"upper", kNoArguments, case_filter<upper>},
    Builtin{"urlencode", kNoArguments, url_encode},
    Builtin{"wordcount", kNoArguments, word_count},
};

}  // namespace

BuiltinTable string_filters() { return kStringFilters; }

}  // namespace slip::jinja
