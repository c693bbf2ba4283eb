// The machine's expressions and calls.
#include <algorithm>
#include <utility>

#include "text/jinja_access.h"
#include "text/jinja_machine.h"
#include "text/jinja_operations.h"

namespace slip::jinja {

Value Machine::value_of(const ExpressionPtr& expression) {
  const Run::Depth depth(run_);
  run_.at_line(expression->line);
  run_.step();
  return std::visit([this](const auto& node) { return evaluate(node); }, expression->node);
}

Value Machine::evaluate(const Variable& node) {
  if (const Value* found = scope_->find(run_, node.name)) return *found;
  const Builtin* function = find_function(node.name);
  return function != nullptr ? Value(Function{function}) : Value();
}

Value Machine::evaluate(const ListOf& node) {
  Elements elements;
  for (const auto& element : node.elements) elements.push_back(value_of(element));
  return make_list(run_, std::move(elements), node.kind);
}

Value Machine::evaluate(const MappingOf& node) {
  Entries entries;
  for (const auto& [key_node, value_node] : node.entries) {
    const Value key = value_of(key_node);
    const bool is_key = !key.is<Mapping>() && !key.is_list(ListKind::kList);
    if (!is_key) run_.fail("a key that is " + std::string(key.kind()));
    Value value = value_of(value_node);
    const auto same = std::find_if(entries.begin(), entries.end(), [&](const auto& entry) {
      return are_equal(run_, entry.first, key);
    });
    if (same != entries.end()) {
      same->second = std::move(value);
    } else {
      entries.emplace_back(key, std::move(value));
    }
  }
  return make_mapping(run_, std::move(entries));
}

Value Machine::evaluate(const Attribute& node) {
  return attribute(run_, value_of(node.object), node.name);
}

Value Machine::evaluate(const Item& node) {
  const Value object = value_of(node.object);
  return item(run_, object, value_of(node.key));
}

Value Machine::evaluate(const Slice& node) {
  const auto bound = [this](const ExpressionPtr& maybe) {
    return maybe ? value_of(maybe) : Value(None{});
  };
  const Value object = value_of(node.object);
  SliceBounds bounds{bound(node.maybe_start), None{}, None{}};
  bounds.stop = bound(node.maybe_stop);
  bounds.step = bound(node.maybe_step);
  return slice(run_, object, bounds);
}

Value Machine::evaluate(const Not& node) { return Value(!value_of(node.operand).is_true()); }

Value Machine::evaluate(const Unary& node) { return node.apply(run_, value_of(node.operand)); }

Value Machine::evaluate(const Binary& node) {
  const Value left = value_of(node.left);
  return node.apply(run_, left, value_of(node.right));
}

Value Machine::evaluate(const Logical& node) {
  Value left = value_of(node.left);
  return left.is_true() == node.is_and ? value_of(node.right) : left;
}

Value Machine::evaluate(const Comparison& node) {
  Value left = value_of(node.first);
  for (const auto& [holds, operand] : node.rest) {
    Value right = value_of(operand);
    if (!holds(run_, left, right)) return Value(false);
    left = std::move(right);
  }
  return Value(true);
}

Value Machine::evaluate(const Conditional& node) {
  if (value_of(node.condition).is_true()) return value_of(node.then);
  return node.maybe_otherwise ? value_of(node.maybe_otherwise) : Value();
}

Value Machine::evaluate(const Application& node) {
  const Value subject = value_of(node.subject);
  return call_builtin(run_, *node.builtin, subject, values_of(node.arguments));
}

Value Machine::evaluate(const Invocation& node) {
  const Value callee = value_of(node.callee);
  return invoke(callee, values_of(node.arguments));
}

Arguments Machine::values_of(const ArgumentList& arguments) {
  Arguments values;
  for (const auto& argument : arguments.positional) {
    values.positional.push_back(value_of(argument));
  }
  for (const auto& [name, argument] : arguments.named) {
    values.named.emplace_back(name, value_of(argument));
  }
  return values;
}

Value Machine::invoke(const Value& callee, const Arguments& arguments) {
  if (callee.is<Method>()) {
    const Method& method = callee.as<Method>();
    return call_builtin(run_, *method.builtin, *method.object, arguments);
  }
  if (callee.is<Function>()) {
    return call_builtin(run_, *callee.as<Function>().builtin, callee, arguments);
  }
  if (callee.is<Macro>()) return invoke_macro(callee.as<Macro>(), arguments);
  if (callee.is<Loop>()) return invoke_loop(callee.as<Loop>(), arguments);
  run_.fail("a call of " + std::string(callee.kind()));
}

Value Machine::invoke_macro(const Macro& macro, const Arguments& arguments) {
  Scope scope(macro.scope);
  const Inside inside(*this, scope);
  bind_parameters(*macro.definition, arguments, scope);
  // The scope that capture() opens inside is where the body's own names go.
  return Value(capture(macro.definition->body, nullptr).text);
}

void Machine::bind_parameters(const MacroDefinition& macro, const Arguments& arguments,
                              Scope& scope) {
  std::vector<bool> is_used(arguments.named.size(), false);
  const auto take_named = [&](std::string_view name) -> const Value* {
    for (size_t i = 0; i < arguments.named.size(); ++i) {
      if (arguments.named[i].first != name || is_used[i]) continue;
      is_used[i] = true;
      return &arguments.named[i].second;
    }
    return nullptr;
  };
  const size_t n_positional = arguments.positional.size();
  for (size_t i = 0; i < macro.parameters.size(); ++i) {
    const auto& [name, maybe_default] = macro.parameters[i];
    const Value* given = i < n_positional ? &arguments.positional[i] : take_named(name);
    Value value = given != nullptr ? *given : maybe_default ? value_of(maybe_default) : Value();
    scope.set(run_, name, std::move(value));
  }
  if (macro.takes_caller) {
    const Value* caller = take_named("caller");
    scope.set(run_, "caller", caller != nullptr ? *caller : Value());
  }
  Entries rest;
  for (size_t i = 0; i < arguments.named.size(); ++i) {
    if (!is_used[i]) rest.emplace_back(Value(arguments.named[i].first), arguments.named[i].second);
  }
  if (!rest.empty() && !macro.takes_kwargs) {
    run_.fail("macro '" + macro.name + "' with an argument '" + rest[0].first.string() + "'");
  }
  if (macro.takes_kwargs) scope.set(run_, "kwargs", make_mapping(run_, std::move(rest)));
  const size_t n_taken = std::min(n_positional, macro.parameters.size());
  if (n_taken < n_positional && !macro.takes_varargs) {
    run_.fail("macro '" + macro.name + "' with " + std::to_string(n_positional) + " arguments");
  }
  if (!macro.takes_varargs) return;
  Elements surplus(arguments.positional.begin() + static_cast<ptrdiff_t>(n_taken),
                   arguments.positional.end());
  scope.set(run_, "varargs", make_list(run_, std::move(surplus), ListKind::kTuple));
}

// loop(elements): the loop's body over other elements, one level deeper.
Value Machine::invoke_loop(const Loop& loop, const Arguments& arguments) {
  const LoopState& outer = *loop.state;
  if (!outer.statement->is_recursive) run_.fail("a call of a loop that is not recursive");
  if (arguments.positional.size() != 1 || !arguments.named.empty()) {
    run_.fail("a call of a loop, wanted one argument");
  }
  LoopState inner{.source = elements_of(run_, arguments.positional[0]),
                  .passes = {},
                  .statement = outer.statement,
                  .scope = outer.scope,
                  .depth0 = outer.depth0 + 1};
  Text outer_output = std::exchange(output_, Text());
  ++n_captures_;
  run_loop(inner);
  --n_captures_;
  return Value(std::exchange(output_, std::move(outer_output)));
}

}  // namespace slip::jinja
