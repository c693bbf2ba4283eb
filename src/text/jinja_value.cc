#include "text/jinja_value.h"

#include <algorithm>
#include <array>

namespace slip::jinja {
namespace {

constexpr std::array<std::string_view, std::variant_size_v<Value::Data>> kKinds = {
    "undefined", "none", "a boolean", "an integer", "a string", "a list", "a mapping"};

struct Truth {
  bool operator()(Undefined) const { return false; }
  bool operator()(None) const { return false; }
  bool operator()(bool value) const { return value; }
  bool operator()(int64_t value) const { return value != 0; }
  bool operator()(const String& value) const { return !value->empty(); }
  bool operator()(const List& value) const { return !value.elements->empty(); }
  bool operator()(const Mapping& value) const { return !value.entries->empty(); }
};

}  // namespace

Value::Value(std::string text) : data_(std::make_shared<const std::string>(std::move(text))) {}

Value::Value(Elements elements) {
  int inner = 0;
  for (const Value& element : elements) inner = std::max(inner, element.depth());
  data_ = List{std::make_shared<const Elements>(std::move(elements)), inner + 1};
}

Value::Value(Entries entries) {
  int inner = 0;
  for (const auto& [key, value] : entries) inner = std::max(inner, value.depth());
  data_ = Mapping{std::make_shared<const Entries>(std::move(entries)), inner + 1};
}

bool Value::is_true() const { return std::visit(Truth{}, data_); }

int Value::depth() const {
  if (const auto* list = std::get_if<List>(&data_)) return list->depth;
  if (const auto* mapping = std::get_if<Mapping>(&data_)) return mapping->depth;
  return 0;
}

std::string_view Value::kind() const { return kKinds[data_.index()]; }

}  // namespace slip::jinja
