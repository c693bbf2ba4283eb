#include "text/jinja_evaluator.h"

#include <algorithm>

#include "text/jinja_operations.h"
#include "text/jinja_run.h"

namespace slip::jinja {
namespace {

// What names mean, innermost scope last. Only loops open scopes.
class Scopes {
 public:
  explicit Scopes(const Variables& variables) {
    for (const auto& [name, value] : variables) set(name, value);
  }

  size_t open() {
    const size_t outer_begin = begin_;
    begin_ = bindings_.size();
    return outer_begin;
  }
  // Forgets what was set since open().
  void clear() { bindings_.resize(begin_); }
  void close(size_t outer_begin) {
    clear();
    begin_ = outer_begin;
  }

  // `name` must outlive the scope.
  void set(std::string_view name, Value value) {
    const auto own =
        std::find_if(bindings_.begin() + static_cast<ptrdiff_t>(begin_), bindings_.end(),
                     [&](const Binding& binding) { return binding.name == name; });
    if (own != bindings_.end()) {
      own->value = std::move(value);
    } else {
      bindings_.push_back({name, std::move(value)});
    }
  }

  // Undefined if nothing has this name.
  Value get(std::string_view name) const {
    const auto found = std::find_if(bindings_.rbegin(), bindings_.rend(),
                                    [&](const Binding& binding) { return binding.name == name; });
    return found == bindings_.rend() ? Value() : found->value;
  }

  size_t size() const { return bindings_.size(); }

 private:
  struct Binding {
    std::string_view name;
    Value value;
  };
  std::vector<Binding> bindings_;
  size_t begin_ = 0;  // of the innermost scope
};

struct LoopState {
  int64_t index0, length;
};

class Evaluator {
 public:
  Evaluator(const Variables& variables, const std::string& origin, const Limits& limits)
      : run_(origin, limits), scopes_(variables) {}

  std::string take_output() { return std::move(output_); }

  void run(const Block& block) {
    for (const Statement& statement : block) {
      run_.at_line(statement.line);
      run_.step();
      std::visit([this](const auto& node) { execute(node); }, statement.node);
    }
  }

 private:
  void print(std::string_view text) {
    run_.output(text.size());
    output_ += text;
  }

  void execute(const Text& text) { print(text.text); }
  void execute(const Print& node) { print(to_text(run_, value_of(node.value))); }
  void execute(const Set& node) {
    run_.step(scopes_.size() * sizeof(Value));
    scopes_.set(node.variable, value_of(node.value));
  }
  void execute(const If& node) {
    for (const auto& [maybe_condition, body] : node.branches) {
      if (maybe_condition == nullptr || value_of(maybe_condition).is_true()) return run(body);
    }
  }
  void execute(const For& node) {
    const Value iterable = value_of(node.iterable);
    if (iterable.is<Undefined>()) return;  // Jinja's undefined iterates over nothing
    if (!iterable.is<List>())
      run_.fail("'for' over " + std::string(iterable.kind()) + ", wanted a list");
    const size_t outer = scopes_.open();
    loops_.push_back({0, static_cast<int64_t>(iterable.elements().size())});
    for (const Value& element : iterable.elements()) {
      run_.step();
      scopes_.clear();
      scopes_.set(node.variable, element);
      run(node.body);
      ++loops_.back().index0;
    }
    loops_.pop_back();
    scopes_.close(outer);
  }

  Value value_of(const ExpressionPtr& expression) {
    run_.at_line(expression->line);
    run_.step();
    return std::visit([this](const auto& node) { return evaluate(node); }, expression->node);
  }

  Value evaluate(const Literal& node) { return node.value; }
  Value evaluate(const Variable& node) {
    run_.step(scopes_.size() * sizeof(Value));
    return scopes_.get(node.name);
  }
  Value evaluate(const LoopField& node) {
    return node.get(loops_.back().index0, loops_.back().length);
  }
  Value evaluate(const ListOf& node) {
    run_.make(node.elements.size() * sizeof(Value));
    Value list(values_of(node.elements));
    if (list.depth() > run_.limits().value_nesting_max) {
      run_.fail("lists nested deeper than " + std::to_string(run_.limits().value_nesting_max));
    }
    return list;
  }
  Value evaluate(const Member& node) {
    const Value object = value_of(node.object);
    return element(run_, object, value_of(node.key));
  }
  Value evaluate(const Not& node) { return Value(!value_of(node.operand).is_true()); }
  Value evaluate(const Unary& node) { return node.apply(run_, value_of(node.operand)); }
  Value evaluate(const Binary& node) {
    const Value left = value_of(node.left);
    return node.apply(run_, left, value_of(node.right));
  }
  Value evaluate(const Logical& node) {
    Value left = value_of(node.left);
    return left.is_true() == node.is_and ? value_of(node.right) : left;
  }
  Value evaluate(const Comparison& node) {
    Value left = value_of(node.first);
    for (const auto& [holds, operand] : node.rest) {
      Value right = value_of(operand);
      if (!holds(run_, left, right)) return Value(false);
      left = std::move(right);
    }
    return Value(true);
  }
  Value evaluate(const Call& node) { return node.builtin->call(run_, values_of(node.args)); }

  Elements values_of(const std::vector<ExpressionPtr>& expressions) {
    Elements values;
    values.reserve(expressions.size());
    for (const auto& expression : expressions) values.push_back(value_of(expression));
    return values;
  }

  Run run_;
  Scopes scopes_;
  std::vector<LoopState> loops_;
  std::string output_;
};

}  // namespace

std::string render(const Block& program, const Variables& variables, const std::string& origin,
                   const Limits& limits) {
  Evaluator evaluator(variables, origin, limits);
  evaluator.run(program);
  return evaluator.take_output();
}

}  // namespace slip::jinja
