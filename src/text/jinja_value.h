// The values that a template computes with: the part of Python's that published templates touch.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace slip::jinja {

class Value;

struct Undefined {};
struct None {};
using String = std::shared_ptr<const std::string>;
using Elements = std::vector<Value>;
using Entries = std::vector<std::pair<std::string, Value>>;  // in the order of insertion

struct List {
  std::shared_ptr<const Elements> elements;
  int depth;  // lists and mappings inside one another, this one included
};
struct Mapping {
  std::shared_ptr<const Entries> entries;
  int depth;
};

// Immutable; copies share what they hold.
class Value {
 public:
  using Data = std::variant<Undefined, None, bool, int64_t, String, List, Mapping>;

  Value() = default;  // undefined
  // NOLINTNEXTLINE(google-explicit-constructor): `none` reads as a value wherever one is wanted
  Value(None none) : data_(none) {}
  explicit Value(bool value) : data_(value) {}
  explicit Value(int64_t value) : data_(value) {}
  explicit Value(std::string text);
  explicit Value(Elements elements);
  explicit Value(Entries entries);

  const Data& data() const { return data_; }
  template <class T>
  bool is() const {
    return std::holds_alternative<T>(data_);
  }
  bool is_string() const { return is<String>(); }

  // Each requires that the value is one.
  const std::string& string() const { return *std::get<String>(data_); }
  const Elements& elements() const { return *std::get<List>(data_).elements; }
  const Entries& entries() const { return *std::get<Mapping>(data_).entries; }

  // What `if` sees: false for undefined, none, false, 0 and everything empty.
  bool is_true() const;
  // 0 for anything but lists and mappings.
  int depth() const;
  // "a string", "undefined", for messages.
  std::string_view kind() const;

 private:
  Data data_;
};

}  // namespace slip::jinja
