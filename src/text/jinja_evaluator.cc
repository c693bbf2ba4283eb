#include "text/jinja_evaluator.h"

#include <utility>

#include "text/jinja_access.h"
#include "text/jinja_machine.h"
#include "text/jinja_show.h"

namespace slip::jinja {

Machine::Flow Machine::run(const Block& block) {
  const Run::Depth depth(run_);
  for (const Statement& statement : block) {
    run_.at_line(statement.line);
    run_.step();
    const Flow flow =
        std::visit([this](const auto& node) { return execute(node); }, statement.node);
    if (flow != Flow::kOn) return flow;
  }
  return Flow::kOn;
}

void Machine::print(const Text& text) {
  run_.output(n_captures_ == 0 ? text.size() : 0);
  run_.make(text.cost_bytes());
  output_.append(text);
}

Machine::Flow Machine::execute(const Fixed& node) {
  print(Text(node.text));
  return Flow::kOn;
}

Machine::Flow Machine::execute(const Print& node) {
  const Value value = value_of(node.value);
  print(value.is_string() ? value.text() : to_text(run_, value));
  return Flow::kOn;
}

Machine::Flow Machine::execute(const If& node) {
  for (const auto& [maybe_condition, body] : node.branches) {
    if (maybe_condition == nullptr || value_of(maybe_condition).is_true()) return run(body);
  }
  return Flow::kOn;
}

Machine::Flow Machine::execute(const For& node) {
  LoopState loop{.source = elements_of(run_, value_of(node.iterable)),
                 .passes = {},
                 .statement = &node,
                 .scope = scope_};
  run_loop(loop);
  return Flow::kOn;
}

void Machine::run_loop(LoopState& loop) {
  const For& node = *loop.statement;
  run_.make(loop.source->size() * sizeof(Value));
  if (node.maybe_condition) {
    loop.passes = [this, &loop](const Value& element) {
      Scope scope(loop.scope);
      const Inside inside(*this, scope);
      assign(loop.statement->target, element);
      return value_of(loop.statement->maybe_condition).is_true();
    };
  }
  bool needs_otherwise = true;  // until the body has once run to its end, as in jinja2
  for (; loop.has(loop.index0); ++loop.index0) {
    run_.step();
    Scope scope(loop.scope);
    const Inside inside(*this, scope);
    scope.set(run_, "loop", Value(Loop{&loop}));
    assign(node.target, loop.passed[static_cast<size_t>(loop.index0)]);
    const Flow flow = run(node.body);
    if (flow == Flow::kBreak) break;
    if (flow == Flow::kOn) needs_otherwise = false;
  }
  if (!needs_otherwise) return;
  Scope scope(loop.scope);
  const Inside inside(*this, scope);
  run(node.otherwise);
}

Machine::Flow Machine::execute(const Set& node) {
  assign(node.target, value_of(node.value));
  return Flow::kOn;
}

Machine::Capture Machine::capture(const Block& block, const ExpressionPtr& value) {
  Capture result;
  Scope scope(scope_);
  const Inside inside(*this, scope);
  Text outer_output = std::exchange(output_, Text());
  ++n_captures_;
  result.flow = run(block);
  --n_captures_;
  result.text = std::exchange(output_, std::move(outer_output));
  if (value && result.flow == Flow::kOn) {
    run_.make(result.text.cost_bytes());
    Text outer_captured = std::exchange(captured_, result.text);
    result.value = value_of(value);
    captured_ = std::move(outer_captured);
  }
  return result;
}

Machine::Flow Machine::execute(const SetBlock& node) {
  const Capture captured = capture(node.body, node.value);
  // What the filters give must not outlive the scope of the block.
  if (captured.value.is_bound())
    run_.refuse("'set' of a block that gives " + std::string(captured.value.kind()));
  if (captured.flow == Flow::kOn) assign(node.target, captured.value);
  return captured.flow;
}

Machine::Flow Machine::execute(const FilterBlock& node) {
  const Capture captured = capture(node.body, node.value);
  if (captured.flow != Flow::kOn) return captured.flow;
  if (!captured.value.is_string()) {
    run_.fail("a filtered block that gives " + std::string(captured.value.kind()));
  }
  print(captured.value.text());
  return Flow::kOn;
}

Machine::Flow Machine::execute(const With& node) {
  Scope scope(scope_);
  for (const auto& [target, expression] : node.assignments) {
    Value value = value_of(expression);
    scope.set(run_, target.name, std::move(value));
  }
  const Inside inside(*this, scope);
  return run(node.body);
}

Machine::Flow Machine::execute(const MacroDefinition& node) {
  scope_->set(run_, node.name, Value(Macro{&node, scope_}));
  return Flow::kOn;
}

Machine::Flow Machine::execute(const CallBlock& node) {
  const auto& invocation = std::get<Invocation>(node.invocation->node);
  const Value callee = value_of(invocation.callee);
  Arguments arguments = values_of(invocation.arguments);
  arguments.named.emplace_back("caller", Value(Macro{&node.caller, scope_}));
  print(to_text(run_, invoke(callee, arguments)));
  return Flow::kOn;
}

Machine::Flow Machine::execute(const Scoped& node) {
  Scope scope(scope_);
  const Inside inside(*this, scope);
  return run(node.body);
}

void Machine::assign(const Target& target, const Value& value) {
  if (!target.parts.empty()) {
    const auto elements = elements_of(run_, value);
    if (elements->size() != target.parts.size()) {
      run_.fail(std::to_string(elements->size()) + " elements for " +
                std::to_string(target.parts.size()) + " names");
    }
    for (size_t i = 0; i < elements->size(); ++i) assign(target.parts[i], (*elements)[i]);
    return;
  }
  if (target.attribute.empty()) return scope_->set(run_, target.name, value);
  const Value* object = scope_->find(run_, target.name);
  if (object == nullptr || !object->is<Namespace>()) {
    run_.fail("'set' of an attribute of '" + target.name + "', which is no namespace");
  }
  check_namespace_entry(run_, target.attribute, value);
  Entries& attributes = object->as<Namespace>().state->attributes;
  run_.step(attributes.size());
  for (auto& [name, own] : attributes) {
    if (!name.is_string() || name.string() != target.attribute) continue;
    own = value;
    return;
  }
  run_.make(2 * sizeof(Value));
  attributes.emplace_back(Value(target.attribute), value);
}

Text render(const Block& program, const Variables& variables, const std::string& origin,
            const Limits& limits, std::chrono::local_seconds now) {
  Run account(origin, limits, now);
  Scope globals(nullptr);
  for (const auto& [name, value] : variables) globals.bindings.emplace_back(name, value);
  Machine machine(account, globals);
  machine.run(program);
  return machine.take_output();
}

}  // namespace slip::jinja
