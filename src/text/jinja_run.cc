#include "text/jinja_run.h"

#include <utility>

namespace slip::jinja {
namespace {

constexpr size_t kObjectBytes = 96;  // of a value in memory, beside what it holds

void check_depth(const Run& run, const Value& value) {
  if (value.depth() > run.limits().value_nesting_max) {
    run.fail("lists nested deeper than " + std::to_string(run.limits().value_nesting_max));
  }
}

}  // namespace

Value make_string(Run& run, Text text) {
  run.make(kObjectBytes + text.cost_bytes());
  return Value(std::move(text));
}

Value make_string(Run& run, std::string text) {
  run.make(kObjectBytes + text.size());
  return Value(std::move(text));
}

Value make_list(Run& run, Elements elements, ListKind kind) {
  run.step(elements.size());
  run.make(kObjectBytes + elements.size() * sizeof(Value));
  Value list(std::move(elements), kind);
  check_depth(run, list);
  return list;
}

Value make_mapping(Run& run, Entries entries) {
  run.step(entries.size());
  run.make(kObjectBytes + entries.size() * 2 * sizeof(Value));
  Value mapping(std::move(entries));
  check_depth(run, mapping);
  return mapping;
}

Value make_iterator(Run& run, Elements elements) {
  run.step(elements.size());
  run.make(kObjectBytes + elements.size() * sizeof(Value));
  Value iterator = Value::iterator(std::move(elements));
  check_depth(run, iterator);
  return iterator;
}

}  // namespace slip::jinja
