// A parsed template. Names of filters and tests are resolved: what is in a tree can be run.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "text/jinja_builtins.h"
#include "text/jinja_value.h"

namespace slip::jinja {

struct Expression;
using ExpressionPtr = std::unique_ptr<const Expression>;

struct ArgumentList {
  std::vector<ExpressionPtr> positional;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
};

struct Literal {
  Value value;
};
struct Variable {
  std::string name;
};
struct Captured {};  // the text of the block that a filter stands at
struct ListOf {
  ListKind kind;  // kList or kTuple
  std::vector<ExpressionPtr> elements;
};
struct MappingOf {
  std::vector<std::pair<ExpressionPtr, ExpressionPtr>> entries;
};
struct Attribute {  // object.name
  ExpressionPtr object;
  std::string name;
};
struct Item {  // object[key]
  ExpressionPtr object, key;
};
struct Slice {  // object[start:stop:step], each may be nullptr
  ExpressionPtr object, maybe_start, maybe_stop, maybe_step;
};
struct Not {
  ExpressionPtr operand;
};
struct Unary {
  Value (*apply)(Run& run, const Value& value);
  ExpressionPtr operand;
};
struct Binary {
  Value (*apply)(Run& run, const Value& left, const Value& right);
  ExpressionPtr left, right;
};
struct Logical {  // gives one of its operands, and evaluates the right one only if needed
  bool is_and;
  ExpressionPtr left, right;
};
struct Comparison {  // first op operand op operand ...: true if each neighbouring pair is
  using Holds = bool (*)(Run& run, const Value& left, const Value& right);
  ExpressionPtr first;
  std::vector<std::pair<Holds, ExpressionPtr>> rest;
};
struct Conditional {                               // then if condition else otherwise
  ExpressionPtr condition, then, maybe_otherwise;  // nullptr: undefined
};
struct Application {  // subject|filter(arguments) and subject is test(arguments)
  const Builtin* builtin;
  ExpressionPtr subject;
  ArgumentList arguments;
};
struct Invocation {  // callee(arguments)
  ExpressionPtr callee;
  ArgumentList arguments;
};

struct Expression {
  using Node =
      std::variant<Literal, Variable, Captured, ListOf, MappingOf, Attribute, Item, Slice, Not,
                   Unary, Binary, Logical, Comparison, Conditional, Application, Invocation>;
  Node node;
  int line;
  int depth;  // of the tree below, this node included; bounded by Limits::nesting_max
};

// The depth of the deepest part of a node; 0 for a node without parts.
int depth_below(const Expression::Node& node);

// What a value is assigned to: one of the three.
struct Target {
  std::string name;
  std::string attribute;      // of the namespace `name`; empty: `name` itself
  std::vector<Target> parts;  // not empty: the elements of the value go here, one each
};

struct Statement;
using Block = std::vector<Statement>;

struct Fixed {
  std::string text;
};
struct Print {
  ExpressionPtr value;
};
struct If {
  struct Branch {
    ExpressionPtr maybe_condition;  // nullptr: else
    Block body;
  };
  std::vector<Branch> branches;
};
struct For {
  Target target;
  ExpressionPtr iterable;
  ExpressionPtr maybe_condition;  // of the elements to look at
  bool is_recursive = false;
  Block body, otherwise;
};
struct Set {
  Target target;
  ExpressionPtr value;
};
struct SetBlock {
  Target target;
  ExpressionPtr value;  // Captured, filtered
  Block body;
};
struct FilterBlock {
  ExpressionPtr value;
  Block body;
};
struct With {
  std::vector<std::pair<Target, ExpressionPtr>> assignments;
  Block body;
};
struct MacroDefinition {
  struct Parameter {
    std::string name;
    ExpressionPtr maybe_default;
  };
  std::string name;
  std::vector<Parameter> parameters;
  bool takes_caller = false, takes_varargs = false, takes_kwargs = false;  // its body names them
  Block body;
};
struct CallBlock {
  MacroDefinition caller;
  ExpressionPtr invocation;
};
struct Scoped {  // a block with a scope of its own: generation
  Block body;
};
struct Break {};
struct Continue {};

struct Statement {
  explicit Statement(int line_in) : line(line_in) {}

  std::variant<Fixed, Print, If, For, Set, SetBlock, FilterBlock, With, MacroDefinition, CallBlock,
               Scoped, Break, Continue>
      node;
  int line;
};

}  // namespace slip::jinja
