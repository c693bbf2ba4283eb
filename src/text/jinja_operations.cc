#include "text/jinja_operations.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "text/jinja_access.h"

namespace slip::jinja {
namespace {

template <class T>
int sign(const T& a, const T& b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

// Exact for every pair of 64-bit integers and doubles: a long double has 64 bits of mantissa.
std::optional<long double> as_number(const Value& value) {
  static_assert(std::numeric_limits<long double>::digits >= 64);
  if (const auto integer = as_integer(value)) return static_cast<long double>(*integer);
  if (value.is<double>()) return static_cast<long double>(value.as<double>());
  return std::nullopt;
}

bool are_equal_lists(Run& run, const List& a, const List& b) {
  const bool is_view =
      a.kind == ListKind::kKeys || a.kind == ListKind::kValues || a.kind == ListKind::kItems;
  if (is_view && a.kind == b.kind) run.refuse("'==' between views of mappings");
  const auto family = [](ListKind kind) {
    return kind == ListKind::kGroup ? ListKind::kTuple : kind;
  };
  if (family(a.kind) != family(b.kind)) return false;
  return std::equal(a.elements->begin(), a.elements->end(), b.elements->begin(), b.elements->end(),
                    [&](const Value& x, const Value& y) { return are_equal(run, x, y); });
}

bool are_equal_mappings(Run& run, const Value& a, const Value& b) {
  if (a.entries().size() != b.entries().size()) return false;
  return std::all_of(a.entries().begin(), a.entries().end(), [&](const auto& entry) {
    const Value* other = find_entry(run, b, entry.first);
    return other != nullptr && are_equal(run, entry.second, *other);
  });
}

int compare_lists(Run& run, const Elements& a, const Elements& b) {
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (!are_equal(run, a[i], b[i])) return compare(run, a[i], b[i]);
  }
  return sign(a.size(), b.size());
}

// Whether both are the same object, for kinds that Python compares so.
bool are_identical(const Value& a, const Value& b) {
  if (a.is<Namespace>()) return a.as<Namespace>().state == b.as<Namespace>().state;
  if (a.is<Iterator>()) return a.as<Iterator>().state == b.as<Iterator>().state;
  if (a.is<Loop>()) return a.as<Loop>().state == b.as<Loop>().state;
  if (a.is<Function>()) return a.as<Function>().builtin == b.as<Function>().builtin;
  if (a.is<Macro>()) return a.as<Macro>().definition == b.as<Macro>().definition;
  return !a.is<Method>();  // none is none, undefined is undefined
}

bool has_element(Run& run, const Elements& elements, const Value& element) {
  return std::any_of(elements.begin(), elements.end(),
                     [&](const Value& candidate) { return are_equal(run, candidate, element); });
}

}  // namespace

void fail_between(Run& run, std::string_view what, const Value& a, const Value& b) {
  run.fail("'" + std::string(what) + "' between " + std::string(a.kind()) + " and " +
           std::string(b.kind()));
}

std::optional<int64_t> as_integer(const Value& value) {
  if (value.is<int64_t>()) return value.as<int64_t>();
  if (value.is<bool>()) return value.is_true() ? 1 : 0;
  return std::nullopt;
}

std::optional<double> as_float(const Value& value) {
  if (value.is<double>()) return value.as<double>();
  if (const auto integer = as_integer(value)) return static_cast<double>(*integer);
  return std::nullopt;
}

bool are_equal(Run& run, const Value& a, const Value& b) {
  run.step();
  const auto x = as_number(a);
  const auto y = as_number(b);
  if (x && y) return *x == *y;
  if (a.data().index() != b.data().index()) return false;
  if (a.is_string()) {
    run.step(std::min(a.string().size(), b.string().size()));
    return a.string() == b.string();
  }
  if (a.is<List>()) return are_equal_lists(run, a.as<List>(), b.as<List>());
  if (a.is<Mapping>()) return are_equal_mappings(run, a, b);
  return are_identical(a, b);
}

int compare(Run& run, const Value& a, const Value& b) {
  run.step();
  const auto x = as_number(a);
  const auto y = as_number(b);
  if (x && y) {
    if (*x != *x || *y != *y) run.refuse("an order of nan");
    return sign(*x, *y);
  }
  if (a.is_string() && b.is_string()) {
    run.step(std::min(a.string().size(), b.string().size()));
    return sign(a.string(), b.string());  // UTF-8 sorts as its code points do
  }
  const auto are_both = [&](ListKind kind) { return a.is_list(kind) && b.is_list(kind); };
  if (are_both(ListKind::kList) || are_both(ListKind::kTuple)) {
    return compare_lists(run, a.elements(), b.elements());
  }
  fail_between(run, "<", a, b);
}

bool contains(Run& run, const Value& container, const Value& element) {
  run.step();
  if (container.is_string() && element.is_string()) {
    run.step(container.string().size() + element.string().size());
    // memmem is linear for every input; std::string::find is not.
    const std::string& text = container.string();
    const std::string& part = element.string();
    return memmem(text.data(), text.size(), part.data(), part.size()) != nullptr;
  }
  if (container.is<List>()) return has_element(run, container.elements(), element);
  if (container.is<Iterator>()) return has_element(run, *elements_of(run, container), element);
  if (container.is<Mapping>()) {
    if (element.is_list(ListKind::kList) || element.is<Mapping>()) {
      fail_between(run, "in", element, container);
    }
    return find_entry(run, container, element) != nullptr;
  }
  if (container.is<Undefined>()) return false;
  fail_between(run, "in", element, container);
}

}  // namespace slip::jinja
