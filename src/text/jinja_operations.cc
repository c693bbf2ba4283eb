#include "text/jinja_operations.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "text/jinja_strings.h"

namespace slip::jinja {
namespace {

// A boolean is a number in Python.
std::optional<int64_t> number(const Value& value) {
  if (const auto* integer = std::get_if<int64_t>(&value.data())) return *integer;
  if (const auto* boolean = std::get_if<bool>(&value.data())) return *boolean ? 1 : 0;
  return std::nullopt;
}

[[noreturn]] void fail_on(Run& run, std::string_view what, const Value& a, const Value& b) {
  run.fail("'" + std::string(what) + "' between " + std::string(a.kind()) + " and " +
           std::string(b.kind()));
}

// Shows values the way str() and, inside of lists, repr() do.
class Writer {
 public:
  explicit Writer(Run& run) : run_(run) {}

  void write(const Value& value, bool is_inside) {
    run_.step();
    is_inside_ = is_inside;
    std::visit(*this, value.data());
  }
  std::string take() { return std::move(out_); }

  void operator()(Undefined) { append(is_inside_ ? "Undefined" : ""); }
  void operator()(None) { append("None"); }
  void operator()(bool value) { append(value ? "True" : "False"); }
  void operator()(int64_t value) { append(std::to_string(value)); }
  void operator()(const String& value) {
    run_.step(value->size());
    is_inside_ ? append(repr(*value)) : append(*value);
  }
  void operator()(const List& value) {
    append("[");
    bool is_first = true;
    for (const Value& element : *value.elements) {
      if (!std::exchange(is_first, false)) append(", ");
      write(element, true);
    }
    append("]");
  }
  void operator()(const Mapping& value) {
    append("{");
    bool is_first = true;
    for (const auto& [key, element] : *value.entries) {
      if (!std::exchange(is_first, false)) append(", ");
      append(repr(key) + ": ");
      write(element, true);
    }
    append("}");
  }

 private:
  void append(std::string_view text) {
    run_.make(text.size());
    out_ += text;
  }

  Run& run_;
  std::string out_;
  bool is_inside_ = false;
};

bool are_equal_lists(Run& run, const Elements& a, const Elements& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](const Value& x, const Value& y) { return are_equal(run, x, y); });
}

const Value* find_entry(Run& run, const Value& mapping, std::string_view key) {
  for (const auto& [name, value] : mapping.entries()) {
    run.step();
    if (name == key) return &value;
  }
  return nullptr;
}

bool are_equal_mappings(Run& run, const Value& a, const Value& b) {
  if (a.entries().size() != b.entries().size()) return false;
  return std::all_of(a.entries().begin(), a.entries().end(), [&](const auto& entry) {
    const Value* other = find_entry(run, b, entry.first);
    return other != nullptr && are_equal(run, entry.second, *other);
  });
}

template <class T>
int sign(const T& a, const T& b) {
  return a < b ? -1 : a == b ? 0 : 1;
}

int compare_lists(Run& run, const Elements& a, const Elements& b) {
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (!are_equal(run, a[i], b[i])) return compare(run, a[i], b[i]);
  }
  return sign(a.size(), b.size());
}

Value checked(Run& run, bool is_overflow, int64_t value) {
  if (is_overflow) run.fail("an integer beyond 64 bits");
  return Value(value);
}

}  // namespace

std::string to_text(Run& run, const Value& value) {
  Writer writer(run);
  writer.write(value, /*is_inside=*/false);
  return writer.take();
}

bool are_equal(Run& run, const Value& a, const Value& b) {
  run.step();
  const auto x = number(a);
  const auto y = number(b);
  if (x && y) return *x == *y;
  if (a.data().index() != b.data().index()) return false;
  if (a.is_string()) {
    run.step(std::min(a.string().size(), b.string().size()));
    return a.string() == b.string();
  }
  if (a.is<List>()) return are_equal_lists(run, a.elements(), b.elements());
  if (a.is<Mapping>()) return are_equal_mappings(run, a, b);
  return true;  // none is none, undefined is undefined
}

int compare(Run& run, const Value& a, const Value& b) {
  run.step();
  const auto x = number(a);
  const auto y = number(b);
  if (x && y) return sign(*x, *y);
  if (a.is_string() && b.is_string()) {
    run.step(std::min(a.string().size(), b.string().size()));
    return sign(a.string(), b.string());  // UTF-8 sorts as its code points do
  }
  if (a.is<List>() && b.is<List>()) return compare_lists(run, a.elements(), b.elements());
  fail_on(run, "<", a, b);
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
  if (container.is<List>()) {
    return std::any_of(container.elements().begin(), container.elements().end(),
                       [&](const Value& candidate) { return are_equal(run, candidate, element); });
  }
  if (container.is<Mapping>()) {
    return element.is_string() && find_entry(run, container, element.string()) != nullptr;
  }
  if (container.is<Undefined>()) return false;
  fail_on(run, "in", element, container);
}

Value add(Run& run, const Value& a, const Value& b) {
  const auto x = number(a);
  const auto y = number(b);
  if (x && y) {
    int64_t sum = 0;
    const bool is_overflow = __builtin_add_overflow(*x, *y, &sum);
    return checked(run, is_overflow, sum);
  }
  if (a.is_string() && b.is_string()) {
    run.make(a.string().size() + b.string().size());
    return Value(a.string() + b.string());
  }
  if (a.is<List>() && b.is<List>()) {
    run.make((a.elements().size() + b.elements().size()) * sizeof(Value));
    Elements both = a.elements();
    both.insert(both.end(), b.elements().begin(), b.elements().end());
    return Value(std::move(both));
  }
  fail_on(run, "+", a, b);
}

Value subtract(Run& run, const Value& a, const Value& b) {
  const auto x = number(a);
  const auto y = number(b);
  if (!x || !y) fail_on(run, "-", a, b);
  int64_t difference = 0;
  const bool is_overflow = __builtin_sub_overflow(*x, *y, &difference);
  return checked(run, is_overflow, difference);
}

Value concatenate(Run& run, const Value& a, const Value& b) {
  const std::string left = to_text(run, a);
  const std::string right = to_text(run, b);
  run.make(left.size() + right.size());
  return Value(left + right);
}

Value negate(Run& run, const Value& value) {
  if (!number(value)) run.fail("'-' before " + std::string(value.kind()));
  return subtract(run, Value(int64_t{0}), value);
}

Value plus(Run& run, const Value& value) {
  if (!number(value)) run.fail("'+' before " + std::string(value.kind()));
  return Value(*number(value));
}

Value element(Run& run, const Value& object, const Value& key) {
  if (object.is<Undefined>()) {
    run.fail("a member of an undefined value: " + to_text(run, key).substr(0, 100));
  }
  if (object.is<Mapping>() && key.is_string()) {
    const Value* found = find_entry(run, object, key.string());
    return found != nullptr ? *found : Value();
  }
  const auto position = number(key);
  if (!position) return {};
  if (object.is_string()) {
    run.step(object.string().size());
    const auto character = code_point_at(object.string(), *position);
    return character ? make_string(run, *character) : Value();
  }
  if (object.is<List>()) {
    const auto size = static_cast<int64_t>(object.elements().size());
    const int64_t from_front = *position < 0 ? *position + size : *position;
    if (from_front >= 0 && from_front < size)
      return object.elements()[static_cast<size_t>(from_front)];
  }
  return {};
}

int64_t length(Run& run, const Value& value) {
  if (value.is<Undefined>()) return 0;
  if (value.is<List>()) return static_cast<int64_t>(value.elements().size());
  if (value.is<Mapping>()) return static_cast<int64_t>(value.entries().size());
  if (!value.is_string()) run.fail("length of " + std::string(value.kind()));
  run.step(value.string().size());
  return static_cast<int64_t>(n_code_points(value.string()));
}

Value make_string(Run& run, std::string_view text) {
  run.make(text.size());
  return Value(std::string(text));
}

}  // namespace slip::jinja
