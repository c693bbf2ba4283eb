// The interpreter's inside: expressions give values (jinja_expressions.cc), statements print
// (jinja_evaluator.cc), and each may run the other.
#pragma once

#include "text/jinja_ast.h"
#include "text/jinja_loop.h"
#include "text/jinja_run.h"
#include "text/jinja_scope.h"

namespace slip::jinja {

class Machine {
 public:
  // Both must outlive this object.
  Machine(Run& run, Scope& globals) : run_(run), scope_(&globals) {}

  enum class Flow { kOn, kBreak, kContinue };  // what the statement means for the loop around it
  Flow run(const Block& block);
  Text take_output() { return std::move(output_); }

 private:
  // Makes `scope` the innermost one while it lives.
  class Inside {
   public:
    Inside(Machine& machine, Scope& scope) : machine_(machine), outer_(machine.scope_) {
      machine_.scope_ = &scope;
    }
    ~Inside() { machine_.scope_ = outer_; }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    Machine& machine_;
    Scope* outer_;
  };

  // Statements.
  void print(const Text& text);
  Flow execute(const Fixed& node);
  Flow execute(const Print& node);
  Flow execute(const If& node);
  Flow execute(const For& node);
  Flow execute(const Set& node);
  Flow execute(const SetBlock& node);
  Flow execute(const FilterBlock& node);
  Flow execute(const With& node);
  Flow execute(const MacroDefinition& node);
  Flow execute(const CallBlock& node);
  Flow execute(const Scoped& node);
  Flow execute(const Break&) { return Flow::kBreak; }
  Flow execute(const Continue&) { return Flow::kContinue; }
  void assign(const Target& target, const Value& value);
  void run_loop(LoopState& loop);
  // Runs `block` in a scope of its own, printing into the result.
  struct Capture {
    Text text;
    Flow flow;
    Value value;  // of the expression with the text in it
  };
  Capture capture(const Block& block, const ExpressionPtr& value);

  // Expressions.
  Value value_of(const ExpressionPtr& expression);
  Value evaluate(const Literal& node) { return node.value; }
  Value evaluate(const Variable& node);
  Value evaluate(const Captured&) { return Value(captured_); }
  Value evaluate(const ListOf& node);
  Value evaluate(const MappingOf& node);
  Value evaluate(const Attribute& node);
  Value evaluate(const Item& node);
  Value evaluate(const Slice& node);
  Value evaluate(const Not& node);
  Value evaluate(const Unary& node);
  Value evaluate(const Binary& node);
  Value evaluate(const Logical& node);
  Value evaluate(const Comparison& node);
  Value evaluate(const Conditional& node);
  Value evaluate(const Application& node);
  Value evaluate(const Invocation& node);
  Arguments values_of(const ArgumentList& arguments);

  // Calls.
  Value invoke(const Value& callee, const Arguments& arguments);
  Value invoke_macro(const Macro& macro, const Arguments& arguments);
  void bind_parameters(const MacroDefinition& macro, const Arguments& arguments, Scope& scope);
  Value invoke_loop(const Loop& loop, const Arguments& arguments);

  Run& run_;
  Scope* scope_;
  Text output_;
  size_t n_captures_ = 0;  // output_ is the text of a block, not the template's
  Text captured_;
};

}  // namespace slip::jinja
