// A parsed template. Names of builtins and operators are resolved: what is in a tree can be run.
#pragma once

#include <cstdint>
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

struct Literal {
  Value value;
};
struct Variable {
  std::string name;
};
struct LoopField {  // loop.index and its like, of the innermost loop
  Value (*get)(int64_t index0, int64_t length);
};
struct ListOf {
  std::vector<ExpressionPtr> elements;
};
struct Member {  // object.key and object[key], which Jinja treats alike
  ExpressionPtr object, key;
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
struct Call {  // filter, test, method or function
  const Builtin* builtin;
  std::vector<ExpressionPtr> args;
};

struct Expression {
  std::variant<Literal, Variable, LoopField, ListOf, Member, Not, Unary, Binary, Logical,
               Comparison, Call>
      node;
  int line;
  int depth;  // of the tree below, this node included; bounded by Limits::nesting_max
};

struct Statement;
using Block = std::vector<Statement>;

struct Text {
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
  std::string variable;
  ExpressionPtr iterable;
  Block body;
};
struct Set {
  std::string variable;
  ExpressionPtr value;
};

struct Statement {
  explicit Statement(int line_in) : line(line_in) {}

  std::variant<Text, Print, If, For, Set> node;
  int line;
};

}  // namespace slip::jinja
