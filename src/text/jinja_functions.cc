// The functions that Hugging Face gives to templates.
#include <algorithm>
#include <array>
#include <ctime>
#include <limits>

#include "text/jinja_access.h"
#include "text/jinja_builtins.h"
#include "text/jinja_operations.h"
#include "text/jinja_show.h"

namespace slip::jinja {
namespace {

Value raise_exception(const Call& call) { call.run.fail(to_text(call.run, call[0]).bytes()); }

// The moment as the C library takes it.
std::tm broken_down(std::chrono::local_seconds now) {
  const auto day = std::chrono::floor<std::chrono::days>(now);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(now - day);
  const auto new_year =
      std::chrono::local_days(date.year() / std::chrono::January / std::chrono::day(1));
  std::tm parts{};
  parts.tm_year = static_cast<int>(date.year()) - 1900;
  parts.tm_mon = static_cast<int>(static_cast<unsigned>(date.month())) - 1;
  parts.tm_mday = static_cast<int>(static_cast<unsigned>(date.day()));
  parts.tm_wday = static_cast<int>(std::chrono::weekday(day).c_encoding());
  parts.tm_yday = static_cast<int>((day - new_year).count());
  parts.tm_hour = static_cast<int>(time.hours().count());
  parts.tm_min = static_cast<int>(time.minutes().count());
  parts.tm_sec = static_cast<int>(time.seconds().count());
  return parts;
}

// strftime_now(format): the moment of Run::now().
Value strftime_now(const Call& call) {
  constexpr std::string_view kDirectives = "aAbBcdDeFHIjmMpSTuUwWxXyY%";
  const std::tm now = broken_down(call.run.now());
  const std::string& format = call.text(0).bytes();
  Text out;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      out.append(call.text(0), i, 1);
      continue;
    }
    const bool is_unpadded = format.substr(i + 1, 1) == "-";
    const size_t at = i + (is_unpadded ? 2 : 1);
    if (at >= format.size() || kDirectives.find(format[at]) == std::string_view::npos) {
      call.run.refuse("time format '" + format.substr(i, 3) + "'");
    }
    const std::string directive = format.substr(i, at + 1 - i);
    std::array<char, 64> written{};
    const size_t n_bytes = std::strftime(written.data(), written.size(), directive.c_str(), &now);
    out.append({written.data(), n_bytes}, Origin::kTemplate);
    i = at;
  }
  return make_string(call.run, std::move(out));
}

Value range(const Call& call) {
  const int64_t start = call.has(1) ? call.integer_or(0, 0) : 0;
  const int64_t stop = call.has(1) ? call.integer_or(1, 0) : call.integer_or(0, 0);
  const int64_t step = call.integer_or(2, 1);
  if (step == 0) call.run.fail("range with step 0");
  Elements elements;
  for (int64_t at = start; step > 0 ? at < stop : at > stop;) {
    if (static_cast<int64_t>(elements.size()) == call.run.limits().range_max) {
      call.run.fail("a range of more than " + std::to_string(call.run.limits().range_max) +
                    " elements");
    }
    elements.emplace_back(at);
    if (__builtin_add_overflow(at, step, &at)) break;
  }
  return make_list(call.run, std::move(elements), ListKind::kRange);
}

void put(Run& run, Entries& entries, const Value& key, const Value& value) {
  for (auto& [own_key, own_value] : entries) {
    if (!are_equal(run, own_key, key)) continue;
    own_value = value;
    return;
  }
  entries.emplace_back(key, value);
}

// The entries of dict(...): of a mapping or of pairs, then the arguments by name.
Entries entries_of(const Call& call) {
  const auto& [positional, named] = call.arguments;
  if (positional.size() > 1) call.run.fail("more than one mapping to copy");
  Entries entries;
  if (!positional.empty() && positional[0].is<Mapping>()) {
    entries = positional[0].entries();
  } else if (!positional.empty()) {
    const auto all = elements_of(call.run, positional[0]);
    for (const Value& pair : *all) {
      const auto parts = elements_of(call.run, pair);
      if (parts->size() != 2) call.run.fail("a mapping of something that is no pair");
      put(call.run, entries, (*parts)[0], (*parts)[1]);
    }
  }
  for (const auto& [name, value] : named) put(call.run, entries, Value(name), value);
  return entries;
}

Value dict(const Call& call) { return make_mapping(call.run, entries_of(call)); }

Value make_namespace(const Call& call) {
  const Value attributes = make_mapping(call.run, entries_of(call));
  for (const auto& [name, value] : attributes.entries()) {
    if (name.is_string()) check_namespace_entry(call.run, name.string(), value);
  }
  return Value(Namespace{std::make_shared<NamespaceState>(NamespaceState{attributes.entries()})});
}

constexpr std::array kFunctions = {
    Builtin{"dict", {0, Signature::kAny}, dict},
    Builtin{"namespace", {0, Signature::kAny}, make_namespace},
    Builtin{"raise_exception", {1, 1, {"message"}}, raise_exception},
    Builtin{"range", {1, 3}, range},
    Builtin{"strftime_now", {1, 1, {"format"}}, strftime_now},
};

}  // namespace

void check_namespace_entry(Run& run, std::string_view name, const Value& value) {
  if (name.starts_with('_')) {
    run.fail("'" + std::string(name.substr(0, 100)) + "' in a namespace, wanted no underscore");
  }
  if (value.is_bound()) run.refuse(std::string(value.kind()) + " inside of a namespace");
}

BuiltinTable functions() { return kFunctions; }

}  // namespace slip::jinja
