#include "text/jinja_value.h"

#include <algorithm>
#include <array>

namespace slip::jinja {
namespace {

constexpr std::array<std::string_view, std::variant_size_v<Value::Data>> kKinds = {
    "undefined", "none",        "a boolean",   "an integer", "a number", "a string", "a list",
    "a mapping", "an iterator", "a namespace", "a macro",    "a loop",   "a method", "a function"};

struct Truth {
  bool operator()(Undefined) const { return false; }
  bool operator()(None) const { return false; }
  bool operator()(bool value) const { return value; }
  bool operator()(int64_t value) const { return value != 0; }
  bool operator()(double value) const { return value != 0; }
  bool operator()(const String& value) const { return value.text->size() > 0; }
  bool operator()(const List& value) const { return !value.elements->empty(); }
  bool operator()(const Mapping& value) const { return !value.entries->empty(); }
  template <class Object>
  bool operator()(const Object&) const {
    return true;
  }
};

struct Depth {
  int operator()(const List& value) const { return value.depth; }
  int operator()(const Mapping& value) const { return value.depth; }
  int operator()(const Iterator& value) const { return value.depth; }
  int operator()(const Method& value) const { return value.depth; }
  template <class Leaf>
  int operator()(const Leaf&) const {
    return 0;
  }
};

struct Bound {
  bool operator()(const List& value) const { return value.is_bound; }
  bool operator()(const Mapping& value) const { return value.is_bound; }
  bool operator()(const Iterator&) const { return true; }
  bool operator()(const Namespace&) const { return true; }
  bool operator()(const Macro&) const { return true; }
  bool operator()(const Loop&) const { return true; }
  bool operator()(const Method& value) const { return value.object->is_bound(); }
  template <class Leaf>
  bool operator()(const Leaf&) const {
    return false;
  }
};

int depth_of(const Elements& elements) {
  int inner = 0;
  for (const Value& element : elements) inner = std::max(inner, element.depth());
  return inner + 1;
}

}  // namespace

Value::Value(Text text, bool is_markup)
    : data_(String{std::make_shared<const Text>(std::move(text)), is_markup}) {}

Value::Value(Elements elements, ListKind kind) {
  const bool is_bound = std::any_of(elements.begin(), elements.end(),
                                    [](const Value& element) { return element.is_bound(); });
  const int depth = depth_of(elements);
  data_ = List{std::make_shared<const Elements>(std::move(elements)), kind, depth, is_bound};
}

Value::Value(Entries entries) {
  int inner = 0;
  bool is_bound = false;
  for (const auto& [key, value] : entries) {
    inner = std::max({inner, key.depth(), value.depth()});
    is_bound = is_bound || key.is_bound() || value.is_bound();
  }
  data_ = Mapping{std::make_shared<const Entries>(std::move(entries)), inner + 1, is_bound};
}

Value Value::iterator(Elements elements) {
  const int depth = depth_of(elements);
  Value value;
  value.data_ =
      Iterator{std::make_shared<IteratorState>(IteratorState{std::move(elements)}), depth};
  return value;
}

Value Value::method(const Value& object, const Builtin& builtin) {
  Value value;
  value.data_ = Method{std::make_shared<const Value>(object), &builtin, object.depth() + 1};
  return value;
}

bool Value::is_true() const { return std::visit(Truth{}, data_); }
int Value::depth() const { return std::visit(Depth{}, data_); }
bool Value::is_bound() const { return std::visit(Bound{}, data_); }
std::string_view Value::kind() const { return kKinds[data_.index()]; }

}  // namespace slip::jinja
