// A running `for`: what the name `loop` means inside of it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "text/jinja_run.h"
#include "text/jinja_value.h"

namespace slip::jinja {

struct For;

struct LoopState {
  std::shared_ptr<const Elements> source;
  std::function<bool(const Value& element)> passes;  // the `if` of the loop; empty: all do
  const For* statement;
  Scope* scope;  // around the loop
  int64_t depth0 = 0;

  size_t n_read = 0;  // elements of the source that were looked at
  Elements passed;    // those of them that are iterated over
  int64_t index0 = 0;
  std::optional<Elements> last_changed;

  // Whether there is an element `index`, looking no further into the source than needed: the `if`
  // of a loop may see what its body has done.
  bool has(int64_t index);
  int64_t length();
};

// loop.index and its like; nothing if there is no such field.
std::optional<Value> loop_field(LoopState& loop, std::string_view name);

}  // namespace slip::jinja
