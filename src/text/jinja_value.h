// The values that a template computes with: the part of Python's that published templates touch.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "text/jinja_text.h"

namespace slip::jinja {

class Value;
struct Builtin;
struct MacroDefinition;
struct IteratorState;
struct NamespaceState;
struct LoopState;
struct Scope;

struct Undefined {};
struct None {};
using Elements = std::vector<Value>;
using Entries = std::vector<std::pair<Value, Value>>;  // in the order of insertion

struct String {
  std::shared_ptr<const Text> text;
  bool is_markup;  // HTML, after `escape` or `safe`: what is added to it gets escaped
};

// What Python calls a sequence or a view. Only printing, equality and a few operations differ.
enum class ListKind : uint8_t { kList, kTuple, kGroup, kRange, kKeys, kValues, kItems };

struct List {
  std::shared_ptr<const Elements> elements;
  ListKind kind;
  int depth;      // lists and mappings inside one another, this one included
  bool is_bound;  // holds a value that is_bound()
};
struct Mapping {
  std::shared_ptr<const Entries> entries;
  int depth;
  bool is_bound;
};
struct Iterator {  // gives its elements once, has no length
  std::shared_ptr<IteratorState> state;
  int depth;
};
struct Namespace {
  std::shared_ptr<NamespaceState> state;
};
struct Macro {
  const MacroDefinition* definition;
  Scope* scope;  // where it was defined
};
struct Loop {
  LoopState* state;
};
struct Method {  // object.name without its call
  std::shared_ptr<const Value> object;
  const Builtin* builtin;
  int depth;
};
struct Function {
  const Builtin* builtin;
};

// Immutable but for namespaces and iterators; copies share what they hold.
class Value {
 public:
  using Data = std::variant<Undefined, None, bool, int64_t, double, String, List, Mapping, Iterator,
                            Namespace, Macro, Loop, Method, Function>;

  Value() = default;  // undefined
  // NOLINTNEXTLINE(google-explicit-constructor): `none` reads as a value wherever one is wanted
  Value(None none) : data_(none) {}
  explicit Value(bool value) : data_(value) {}
  explicit Value(int64_t value) : data_(value) {}
  explicit Value(double value) : data_(value) {}
  explicit Value(std::string text) : Value(Text(std::move(text))) {}
  explicit Value(Text text, bool is_markup = false);
  explicit Value(Elements elements, ListKind kind = ListKind::kList);
  explicit Value(Entries entries);
  explicit Value(Namespace value) : data_(std::move(value)) {}
  explicit Value(Macro value) : data_(value) {}
  explicit Value(Loop value) : data_(value) {}
  explicit Value(Function value) : data_(value) {}
  static Value iterator(Elements elements);
  static Value method(const Value& object, const Builtin& builtin);

  const Data& data() const { return data_; }
  template <class T>
  bool is() const {
    return std::holds_alternative<T>(data_);
  }
  template <class T>
  const T& as() const {
    return std::get<T>(data_);
  }
  bool is_string() const { return is<String>(); }
  bool is_list(ListKind kind) const { return is<List>() && as<List>().kind == kind; }
  bool is_markup() const { return is<String>() && as<String>().is_markup; }

  // Each requires that the value is one.
  const Text& text() const { return *as<String>().text; }
  const std::string& string() const { return text().bytes(); }
  const Elements& elements() const { return *as<List>().elements; }
  const Entries& entries() const { return *as<Mapping>().entries; }

  // What `if` sees: false for undefined, none, false, 0 and everything empty.
  bool is_true() const;
  // How many values lie inside one another; 0 for what holds none.
  int depth() const;
  // Whether it is, or holds, something that lives in a scope of the template: a namespace, a macro,
  // a loop, an iterator. Such a value stays out of namespaces, so that none can hold itself and
  // none outlives its scope.
  bool is_bound() const;
  // "a string", "undefined", for messages.
  std::string_view kind() const;

 private:
  Data data_;
};

struct IteratorState {
  Elements elements;
  size_t at = 0;
};

struct NamespaceState {
  Entries attributes;
};

}  // namespace slip::jinja
