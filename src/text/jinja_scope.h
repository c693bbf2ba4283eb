// What names mean: a chain of scopes, innermost first. Loops, macros, blocks that capture and
// `with` open scopes, branches do not.
#pragma once

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja_run.h"
#include "text/jinja_value.h"

namespace slip::jinja {

struct Scope {
  explicit Scope(Scope* maybe_outer_in) : maybe_outer(maybe_outer_in) {}
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  // nullptr: this scope gives the name no meaning of its own.
  Value* find_own(std::string_view name) {
    const auto found = std::find_if(bindings.begin(), bindings.end(),
                                    [&](const auto& binding) { return binding.first == name; });
    return found == bindings.end() ? nullptr : &found->second;
  }

  // `name` must outlive the scope.
  void set(Run& run, std::string_view name, Value value) {
    run.step(bindings.size() * sizeof(Value));
    if (Value* own = find_own(name)) {
      *own = std::move(value);
    } else {
      bindings.emplace_back(name, std::move(value));
    }
  }

  // nullptr: the name means nothing here.
  const Value* find(Run& run, std::string_view name) {
    for (Scope* scope = this; scope != nullptr; scope = scope->maybe_outer) {
      run.step(scope->bindings.size() * sizeof(Value));
      if (const Value* own = scope->find_own(name)) return own;
    }
    return nullptr;
  }

  Scope* maybe_outer;
  std::vector<std::pair<std::string_view, Value>> bindings;
};

}  // namespace slip::jinja
