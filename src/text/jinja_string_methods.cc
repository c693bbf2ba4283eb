// The methods of Python's strings.
#include <algorithm>
#include <array>
#include <optional>

#include "text/jinja_access.h"
#include "text/jinja_builtins.h"
#include "text/jinja_case.h"
#include "text/jinja_format.h"
#include "text/jinja_operations.h"
#include "text/jinja_search.h"
#include "text/jinja_show.h"
#include "text/jinja_strings.h"

namespace slip::jinja {
namespace {

const Text& self(const Call& call) { return call.subject.text(); }

// Python escapes what the methods of an HTML string are given; that is not known here.
void refuse_markup(const Call& call) {
  if (call.subject.is_markup()) call.run.refuse("this method of an escaped string");
}

template <bool kFront, bool kBack>
Value strip_method(const Call& call) {
  const Text& text = self(call);
  std::optional<std::string_view> maybe_chars;
  if (call.has(0) && !call[0].is<None>()) maybe_chars = call.text(0).bytes();
  call.run.step(text.size() * (1 + (maybe_chars ? maybe_chars->size() : 0)));
  return call.derived(text.part(strip(text.bytes(), maybe_chars, {kFront, kBack})));
}

template <Text (*kMap)(Run& run, const Text& text)>
Value case_method(const Call& call) {
  return call.derived(kMap(call.run, self(call)));
}

// startswith and endswith differ in the end they look at. An affix may be a tuple of them.
template <bool (*kMatches)(std::string_view text, std::string_view part)>
Value affix_method(const Call& call) {
  const auto matches = [&](const Value& affix) {
    if (!affix.is_string()) {
      call.run.fail("an affix that is " + std::string(affix.kind()) + ", wanted a string");
    }
    call.run.step(std::min(self(call).size(), affix.string().size()));
    return kMatches(self(call).bytes(), affix.string());
  };
  if (!call[0].is_list(ListKind::kTuple)) return Value(matches(call[0]));
  const Elements& affixes = call[0].elements();
  return Value(std::any_of(affixes.begin(), affixes.end(), matches));
}
bool starts_with(std::string_view text, std::string_view part) { return text.starts_with(part); }
bool ends_with(std::string_view text, std::string_view part) { return text.ends_with(part); }

template <bool kFront>
Value remove_affix(const Call& call) {
  const std::string_view text = self(call).bytes();
  const std::string_view affix = call.text(0).bytes();
  call.run.step(affix.size());
  if (!(kFront ? text.starts_with(affix) : text.ends_with(affix))) return call.subject;
  const size_t n_kept = text.size() - affix.size();
  return call.derived(self(call).part(kFront ? affix.size() : 0, n_kept));
}

template <bool kFromEnd>
Value split_method(const Call& call) {
  const Text& text = self(call);
  const SplitOptions options{.n_max = call.integer_or(1, -1), .from_end = kFromEnd};
  const bool is_at_spaces = !call.has(0) || call[0].is<None>();
  if (!is_at_spaces && call.text(0).size() == 0) call.run.fail("split at an empty string");
  call.run.step(text.size());
  const std::vector<std::string_view> parts =
      is_at_spaces ? split_at_spaces(text.bytes(), options)
                   : split_at(text.bytes(), call.text(0).bytes(), options);
  call.run.make(text.cost_bytes() + parts.size() * sizeof(Text));
  Elements elements;
  for (const auto part : parts) elements.emplace_back(text.part(part), call.subject.is_markup());
  return make_list(call.run, std::move(elements));
}

Value split_lines(const Call& call) {
  const Text& text = self(call);
  call.run.step(text.size());
  const auto lines = lines_of(text.bytes(), call.integer_or(0, 0) != 0);
  call.run.make(text.cost_bytes() + lines.size() * sizeof(Text));
  Elements elements;
  for (const auto line : lines) elements.emplace_back(text.part(line), call.subject.is_markup());
  return make_list(call.run, std::move(elements));
}

// partition and rpartition: before, separator, behind
template <bool kFromEnd>
Value partition_method(const Call& call) {
  refuse_markup(call);
  const Text& text = self(call);
  const Text& separator = call.text(0);
  if (separator.size() == 0) call.run.fail("partition at an empty string");
  call.run.step(text.size());
  call.run.make(text.cost_bytes());
  const size_t at = kFromEnd ? find_last(text.bytes(), separator.bytes(), text.size())
                             : find_first(text.bytes(), separator.bytes(), 0);
  Elements parts(3, Value(Text()));
  if (at == std::string_view::npos) {
    parts[kFromEnd ? 2 : 0] = call.subject;
  } else {
    const size_t end = at + separator.size();
    parts = {Value(text.part(0, at)), Value(separator), Value(text.part(end, text.size() - end))};
  }
  return make_list(call.run, std::move(parts), ListKind::kTuple);
}

// Where the argument stands, in characters; -1 if nowhere.
template <bool kFromEnd>
int64_t position_of(const Call& call) {
  const std::string_view text = self(call).bytes();
  const std::string_view part = call.text(0).bytes();
  call.run.step(text.size());
  if (kFromEnd) call.run.make(text.size());
  const size_t at = kFromEnd ? find_last(text, part, text.size()) : find_first(text, part, 0);
  if (at == std::string_view::npos) return -1;
  return static_cast<int64_t>(n_code_points(text.substr(0, at)));
}
template <bool kFromEnd>
Value find_method_of_string(const Call& call) {
  return Value(position_of<kFromEnd>(call));
}
template <bool kFromEnd>
Value index_method(const Call& call) {
  const int64_t position = position_of<kFromEnd>(call);
  if (position < 0) call.run.fail("a substring that is not there");
  return Value(position);
}

Value count_method(const Call& call) {
  call.run.step(self(call).size());
  return Value(count_of(self(call).bytes(), call.text(0).bytes()));
}

Value replace_method(const Call& call) {
  refuse_markup(call);
  return Value(replaced(call.run, self(call), call.text(0), call.text(1), call.integer_or(2, -1)));
}

Value join_method(const Call& call) {
  refuse_markup(call);
  Text out;
  bool is_first = true;
  const auto all = elements_of(call.run, call[0]);
  for (const Value& element : *all) {
    if (!element.is_string()) {
      call.run.fail("join of " + std::string(element.kind()) + ", wanted strings");
    }
    if (element.is_markup()) call.run.refuse("join of escaped strings");
    call.run.make(self(call).cost_bytes() + element.text().cost_bytes());
    if (!is_first) out.append(self(call));
    is_first = false;
    out.append(element.text());
  }
  return Value(std::move(out));
}

Value format_method(const Call& call) {
  refuse_markup(call);
  return make_string(call.run, format_braces(call.run, self(call), call.arguments));
}

template <CharacterClass kClass>
Value class_method(const Call& call) {
  return Value(are_all(call.run, self(call).bytes(), kClass));
}
template <bool (*kHolds)(std::string_view text)>
Value whole_method(const Call& call) {
  call.run.step(self(call).size());
  return Value(kHolds(self(call).bytes()));
}

constexpr Signature kOptional = {0, 1};
constexpr Signature kOne = {1, 1};
constexpr Signature kSplit = {0, 2, {"sep", "maxsplit"}};

constexpr std::array kStringMethods = {
    Builtin{"capitalize", kNoArguments, case_method<capitalize>},
    Builtin{"count", kOne, count_method},
    Builtin{"endswith", kOne, affix_method<ends_with>},
    Builtin{"find", kOne, find_method_of_string<false>},
    Builtin{"format", {0, Signature::kAny}, format_method},
    Builtin{"index", kOne, index_method<false>},
    Builtin{"isalnum", kNoArguments, class_method<CharacterClass::kAlphanumeric>},
    Builtin{"isalpha", kNoArguments, class_method<CharacterClass::kAlphabetic>},
    Builtin{"isdigit", kNoArguments, class_method<CharacterClass::kDigit>},
    Builtin{"islower", kNoArguments, whole_method<is_lower>},
    Builtin{"isspace", kNoArguments, class_method<CharacterClass::kSpace>},
    Builtin{"isupper", kNoArguments, whole_method<is_upper>},
    Builtin{"join", kOne, join_method},
    Builtin{"lower", kNoArguments, case_method<lower>},
    Builtin{"lstrip", kOptional, strip_method<true, false>},
    Builtin{"partition", kOne, partition_method<false>},
    Builtin{"removeprefix", kOne, remove_affix<true>},
    Builtin{"removesuffix", kOne, remove_affix<false>},
    Builtin{"replace", {2, 3}, replace_method},
    Builtin{"rfind", kOne, find_method_of_string<true>},
    Builtin{"rindex", kOne, index_method<true>},
    Builtin{"rpartition", kOne, partition_method<true>},
    Builtin{"rsplit", kSplit, split_method<true>},
    Builtin{"rstrip", kOptional, strip_method<false, true>},
    Builtin{"split", kSplit, split_method<false>},
    Builtin{"splitlines", {0, 1, {"keepends"}}, split_lines},
    Builtin{"startswith", kOne, affix_method<starts_with>},
    Builtin{"strip", kOptional, strip_method<true, true>},
    Builtin{"title", kNoArguments, case_method<title>},
    Builtin{"upper", kNoArguments, case_method<upper>},
};

}  // namespace

BuiltinTable string_methods() { return kStringMethods; }

}  // namespace slip::jinja
