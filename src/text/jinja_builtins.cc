#include "text/jinja_builtins.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "text/jinja_operations.h"
#include "text/jinja_strings.h"

namespace slip::jinja {
namespace {

using Args = std::span<const Value>;

constexpr Ends kBothEnds = {true, true};

// The optional argument of a strip: none means white space, as in Python.
Value stripped(Run& run, std::string_view text, Args args, Ends ends) {
  std::optional<std::string_view> maybe_chars;
  if (args.size() > 1 && !args[1].is<None>()) {
    if (!args[1].is_string())
      run.fail("strip of " + std::string(args[1].kind()) + ", wanted a string");
    maybe_chars = args[1].string();
  }
  run.step(text.size() * (1 + (maybe_chars ? maybe_chars->size() : 0)));
  return make_string(run, strip(text, maybe_chars, ends));
}

const std::string& subject_string(Run& run, Args args) {
  if (!args[0].is_string()) {
    run.fail("a string method of " + std::string(args[0].kind()));
  }
  return args[0].string();
}

template <bool kFront, bool kBack>
Value strip_method(Run& run, Args args) {
  return stripped(run, subject_string(run, args), args, {kFront, kBack});
}

Value trim(Run& run, Args args) {
  const std::string text = to_text(run, args[0]);
  return stripped(run, text, args, kBothEnds);
}

// startswith and endswith differ in the end they look at.
template <bool (*kMatches)(std::string_view text, std::string_view part)>
Value edge_method(Run& run, Args args) {
  const std::string& text = subject_string(run, args);
  if (!args[1].is_string())
    run.fail("an affix that is " + std::string(args[1].kind()) + ", wanted a string");
  run.step(std::min(text.size(), args[1].string().size()));
  return Value(kMatches(text, args[1].string()));
}
bool starts_with(std::string_view text, std::string_view part) { return text.starts_with(part); }
bool ends_with(std::string_view text, std::string_view part) { return text.ends_with(part); }

template <std::optional<std::string> (*kMap)(std::string_view)>
Value case_filter(Run& run, Args args) {
  const std::string text = to_text(run, args[0]);
  run.step(text.size());
  const auto mapped = kMap(text);
  if (!mapped)
    run.fail("upper or lower case of '" + text.substr(0, 100) + "' is not one character for one");
  return make_string(run, *mapped);
}

Value length_filter(Run& run, Args args) { return Value(length(run, args[0])); }

// default(value, replacement = "", also_if_false = false)
Value default_filter(Run&, Args args) {
  const bool is_for_false = args.size() > 2 && args[2].is_true();
  const bool is_replaced = args[0].is<Undefined>() || (is_for_false && !args[0].is_true());
  if (!is_replaced) return args[0];
  return args.size() > 1 ? args[1] : Value(std::string());
}

Value raise_exception(Run& run, Args args) { run.fail(to_text(run, args[0])); }

template <class... Kinds>
Value is_any(Run&, Args args) {
  return Value((args[0].is<Kinds>() || ...));
}
template <bool kWanted>
Value is_boolean(Run&, Args args) {
  return Value(args[0].is<bool>() && args[0].is_true() == kWanted);
}
Value is_defined(Run&, Args args) { return Value(!args[0].is<Undefined>()); }

constexpr std::array kFilters = {
    Builtin{"count", 0, 0, length_filter},      Builtin{"d", 0, 2, default_filter},
    Builtin{"default", 0, 2, default_filter},   Builtin{"length", 0, 0, length_filter},
    Builtin{"lower", 0, 0, case_filter<lower>}, Builtin{"trim", 0, 1, trim},
    Builtin{"upper", 0, 0, case_filter<upper>},
};

constexpr std::array kTests = {
    Builtin{"boolean", 0, 0, is_any<bool>},         Builtin{"defined", 0, 0, is_defined},
    Builtin{"false", 0, 0, is_boolean<false>},      Builtin{"integer", 0, 0, is_any<int64_t>},
    Builtin{"mapping", 0, 0, is_any<Mapping>},      Builtin{"none", 0, 0, is_any<None>},
    Builtin{"number", 0, 0, is_any<int64_t, bool>},  // a boolean is a number in Python
    Builtin{"string", 0, 0, is_any<String>},        Builtin{"true", 0, 0, is_boolean<true>},
    Builtin{"undefined", 0, 0, is_any<Undefined>},
};

constexpr std::array kMethods = {
    Builtin{"endswith", 1, 1, edge_method<ends_with>},
    Builtin{"lstrip", 0, 1, strip_method<true, false>},
    Builtin{"rstrip", 0, 1, strip_method<false, true>},
    Builtin{"startswith", 1, 1, edge_method<starts_with>},
    Builtin{"strip", 0, 1, strip_method<true, true>},
};

constexpr std::array kFunctions = {
    Builtin{"raise_exception", 1, 1, raise_exception},
};

template <size_t kSize>
const Builtin* find_in(const std::array<Builtin, kSize>& table, std::string_view name) {
  const auto found = std::find_if(table.begin(), table.end(),
                                  [&](const Builtin& builtin) { return builtin.name == name; });
  return found == table.end() ? nullptr : &*found;
}

}  // namespace

const Builtin* find_filter(std::string_view name) { return find_in(kFilters, name); }
const Builtin* find_test(std::string_view name) { return find_in(kTests, name); }
const Builtin* find_method(std::string_view name) { return find_in(kMethods, name); }
const Builtin* find_function(std::string_view name) { return find_in(kFunctions, name); }

}  // namespace slip::jinja
