#include "text/jinja_expression_parser.h"

#include <algorithm>
#include <array>

#include "text/jinja_operations.h"
#include "text/jinja_operators.h"

namespace slip::jinja {
namespace {

struct NamedLiteral {
  std::string_view name;
  Value (*value)();
};
constexpr std::array kNamedLiterals = {
    NamedLiteral{"true", [] { return Value(true); }},
    NamedLiteral{"True", [] { return Value(true); }},
    NamedLiteral{"false", [] { return Value(false); }},
    NamedLiteral{"False", [] { return Value(false); }},
    NamedLiteral{"none", [] { return Value(None{}); }},
    NamedLiteral{"None", [] { return Value(None{}); }},
};

// Functions of jinja2 that chat templates have no use for.
constexpr std::array<std::string_view, 3> kRefusedFunctions = {"cycler", "joiner", "lipsum"};

}  // namespace

ExpressionPtr ExpressionParser::make(Expression::Node node) {
  const int depth = 1 + depth_below(node);
  if (depth > limits_.nesting_max) {
    tokens_.refuse("an expression deeper than " + std::to_string(limits_.nesting_max));
  }
  return std::make_unique<const Expression>(
      Expression{std::move(node), tokens_.peek().line, depth});
}

ImplicitNames ExpressionParser::end_macro() {
  const ImplicitNames names = macros_.back();
  macros_.pop_back();
  return names;
}

ExpressionPtr ExpressionParser::parse() {
  const Nesting nesting(depth_, limits_, tokens_);
  return parse_condition(parse_or());
}

// a if x else b if y else c: each `else` holds all that follows.
ExpressionPtr ExpressionParser::parse_condition(ExpressionPtr value) {
  while (tokens_.take_name("if")) {
    ExpressionPtr condition = parse_or();
    ExpressionPtr otherwise = tokens_.take_name("else") ? parse() : nullptr;
    value = make(Conditional{std::move(condition), std::move(value), std::move(otherwise)});
  }
  return value;
}

ExpressionPtr ExpressionParser::parse_tuple(bool has_conditions) {
  const auto parse_part = [&] {
    const Nesting nesting(depth_, limits_, tokens_);
    ExpressionPtr value = parse_or();
    return has_conditions ? parse_condition(std::move(value)) : std::move(value);
  };
  ExpressionPtr first = parse_part();
  if (!tokens_.at_operator(",")) return first;
  ListOf tuple{ListKind::kTuple, {}};
  tuple.elements.push_back(std::move(first));
  while (tokens_.take_operator(",")) {
    const TokenKind kind = tokens_.peek().kind;
    const bool is_end = kind == TokenKind::kPrintEnd || kind == TokenKind::kStatementEnd ||
                        tokens_.at_operator(")");
    if (is_end) break;
    tuple.elements.push_back(parse_part());
  }
  return make(std::move(tuple));
}

ExpressionPtr ExpressionParser::parse_or() {
  ExpressionPtr left = parse_and();
  while (tokens_.take_name("or")) left = make(Logical{false, std::move(left), parse_and()});
  return left;
}

ExpressionPtr ExpressionParser::parse_and() {
  ExpressionPtr left = parse_not();
  while (tokens_.take_name("and")) left = make(Logical{true, std::move(left), parse_not()});
  return left;
}

ExpressionPtr ExpressionParser::parse_not() {
  if (!tokens_.take_name("not")) return parse_comparison();
  const Nesting nesting(depth_, limits_, tokens_);
  return make(Not{parse_not()});
}

ExpressionPtr ExpressionParser::parse_comparison() {
  Comparison comparison{parse_sum(), {}};
  while (const auto holds = take_comparison(tokens_))
    comparison.rest.emplace_back(holds, parse_sum());
  return comparison.rest.empty() ? std::move(comparison.first) : make(std::move(comparison));
}

ExpressionPtr ExpressionParser::parse_sum() {
  ExpressionPtr left = parse_concatenation();
  while (const auto apply = take_sum_operator(tokens_))
    left = make(Binary{apply, std::move(left), parse_concatenation()});
  return left;
}

ExpressionPtr ExpressionParser::parse_concatenation() {
  ExpressionPtr left = parse_product();
  while (tokens_.take_operator("~"))
    left = make(Binary{concatenate, std::move(left), parse_product()});
  return left;
}

ExpressionPtr ExpressionParser::parse_product() {
  ExpressionPtr left = parse_power();
  while (const auto apply = take_product_operator(tokens_))
    left = make(Binary{apply, std::move(left), parse_power()});
  return left;
}

// From left to right, unlike in Python.
ExpressionPtr ExpressionParser::parse_power() {
  ExpressionPtr left = parse_unary(true);
  while (tokens_.take_operator("**"))
    left = make(Binary{power, std::move(left), parse_unary(true)});
  return left;
}

// A sign binds closer than a filter: -x|f is (-x)|f.
ExpressionPtr ExpressionParser::parse_unary(bool has_filters) {
  ExpressionPtr value;
  if (tokens_.at_operator("-") || tokens_.at_operator("+")) {
    const Nesting nesting(depth_, limits_, tokens_);
    const auto apply = tokens_.next().text == "-" ? negate : plus;
    value = make(Unary{apply, parse_unary(false)});
  } else {
    value = parse_primary();
  }
  value = parse_postfix(std::move(value));
  return has_filters ? parse_filters(std::move(value)) : std::move(value);
}

ExpressionPtr ExpressionParser::parse_primary() {
  switch (tokens_.peek().kind) {
    case TokenKind::kName:
      return parse_name();
    case TokenKind::kInteger:
      return make(Literal{Value(tokens_.next().integer)});
    case TokenKind::kFloat:
      return make(Literal{Value(tokens_.next().number)});
    case TokenKind::kString: {
      std::string text;
      while (tokens_.peek().kind == TokenKind::kString) text += tokens_.next().text;
      return make(Literal{Value(std::move(text))});
    }
    default:
      break;
  }
  if (tokens_.take_operator("[")) return parse_list();
  if (tokens_.take_operator("(")) return parse_parentheses();
  if (tokens_.take_operator("{")) return parse_mapping();
  tokens_.fail_at_token("an expression");
}

ExpressionPtr ExpressionParser::parse_name() {
  const std::string name = tokens_.expect_identifier("an expression");
  for (const NamedLiteral& literal : kNamedLiterals) {
    if (literal.name == name) return make(Literal{literal.value()});
  }
  if (std::find(kRefusedFunctions.begin(), kRefusedFunctions.end(), name) !=
      kRefusedFunctions.end()) {
    tokens_.refuse("function '" + name + "'");
  }
  for (ImplicitNames& names : macros_) {
    names.caller |= name == "caller";
    names.varargs |= name == "varargs";
    names.kwargs |= name == "kwargs";
  }
  return make(Variable{name});
}

ExpressionPtr ExpressionParser::parse_list() {
  ListOf list{ListKind::kList, {}};
  while (!tokens_.take_operator("]")) {
    list.elements.push_back(parse());
    if (!tokens_.at_operator("]")) tokens_.expect_operator(",");
  }
  return make(std::move(list));
}

ExpressionPtr ExpressionParser::parse_mapping() {
  MappingOf mapping;
  while (!tokens_.take_operator("}")) {
    ExpressionPtr key = parse();
    tokens_.expect_operator(":");
    mapping.entries.emplace_back(std::move(key), parse());
    if (!tokens_.at_operator("}")) tokens_.expect_operator(",");
  }
  return make(std::move(mapping));
}

ExpressionPtr ExpressionParser::parse_parentheses() {
  if (tokens_.take_operator(")")) return make(ListOf{ListKind::kTuple, {}});
  ExpressionPtr value = parse_tuple();
  tokens_.expect_operator(")");
  return value;
}

ExpressionPtr ExpressionParser::parse_postfix(ExpressionPtr value) {
  while (true) {
    if (tokens_.take_operator(".")) {
      value = parse_dot(std::move(value));
    } else if (tokens_.take_operator("[")) {
      value = parse_subscript(std::move(value));
    } else if (tokens_.at_operator("(")) {
      value = parse_invocation_of(std::move(value));
    } else {
      return value;
    }
  }
}

ExpressionPtr ExpressionParser::parse_dot(ExpressionPtr object) {
  if (tokens_.peek().kind == TokenKind::kInteger) {
    ExpressionPtr key = make(Literal{Value(tokens_.next().integer)});
    return make(Item{std::move(object), std::move(key)});
  }
  if (tokens_.peek().kind != TokenKind::kName) tokens_.fail_at_token("a name");
  std::string name = tokens_.next().text;
  if (tokens_.at_operator("(") && !is_method_name(name)) tokens_.refuse("method '" + name + "'");
  return make(Attribute{std::move(object), std::move(name)});
}

ExpressionPtr ExpressionParser::parse_subscript(ExpressionPtr object) {
  ExpressionPtr first = tokens_.at_operator(":") ? nullptr : parse();
  if (first && tokens_.take_operator("]")) return make(Item{std::move(object), std::move(first)});
  if (tokens_.at_operator(",")) tokens_.refuse("a subscript with several parts");
  tokens_.expect_operator(":");
  ExpressionPtr stop = parse_bound();
  ExpressionPtr step = tokens_.take_operator(":") ? parse_bound() : nullptr;
  tokens_.expect_operator("]");
  return make(Slice{std::move(object), std::move(first), std::move(stop), std::move(step)});
}

// The stop or step of a slice; nullptr if it is left out.
ExpressionPtr ExpressionParser::parse_bound() {
  return tokens_.at_operator(":") || tokens_.at_operator("]") ? nullptr : parse();
}

ExpressionPtr ExpressionParser::parse_filters(ExpressionPtr value) {
  while (true) {
    if (tokens_.take_name("is")) {
      value = parse_test(std::move(value));
    } else if (tokens_.take_operator("|")) {
      value = parse_filter(std::move(value));
    } else if (tokens_.at_operator("(")) {
      value = parse_invocation_of(std::move(value));
    } else {
      return value;
    }
  }
}

ExpressionPtr ExpressionParser::parse_filter(ExpressionPtr value) {
  const std::string name = tokens_.expect_identifier("a filter");
  ArgumentList arguments = tokens_.at_operator("(") ? parse_arguments() : ArgumentList{};
  return make_application(find_filter(name), "filter '" + name + "'", std::move(value),
                          std::move(arguments));
}

ExpressionPtr ExpressionParser::parse_block_filters(bool begins_inside) {
  ExpressionPtr value = make(Captured{});
  if (begins_inside) value = parse_filter(std::move(value));
  while (tokens_.take_operator("|")) value = parse_filter(std::move(value));
  return value;
}

ExpressionPtr ExpressionParser::parse_test(ExpressionPtr value) {
  const bool is_negated = tokens_.take_name("not");
  if (tokens_.peek().kind != TokenKind::kName) tokens_.fail_at_token("a test");
  const std::string name = tokens_.next().text;
  const TokenKind kind = tokens_.peek().kind;
  ArgumentList arguments;
  // One argument may go without parentheses.
  const bool has_plain_argument = kind == TokenKind::kString || kind == TokenKind::kInteger ||
                                  kind == TokenKind::kFloat || tokens_.at_operator("[") ||
                                  tokens_.at_operator("{") ||
                                  (kind == TokenKind::kName && !tokens_.at_name("else") &&
                                   !tokens_.at_name("or") && !tokens_.at_name("and"));
  if (tokens_.at_operator("(")) {
    arguments = parse_arguments();
  } else if (has_plain_argument) {
    arguments.positional.push_back(parse_postfix(parse_primary()));
  }
  ExpressionPtr result = make_application(find_test(name), "test '" + name + "'", std::move(value),
                                          std::move(arguments));
  return is_negated ? make(Not{std::move(result)}) : std::move(result);
}

ExpressionPtr ExpressionParser::parse_invocation_of(ExpressionPtr callee) {
  return make(Invocation{std::move(callee), parse_arguments()});
}

ExpressionPtr ExpressionParser::parse_invocation() {
  ExpressionPtr value = parse();
  if (!std::holds_alternative<Invocation>(value->node)) tokens_.fail_at_token("a call");
  return value;
}

ArgumentList ExpressionParser::parse_arguments() {
  ArgumentList arguments;
  tokens_.expect_operator("(");
  while (!tokens_.take_operator(")")) {
    if (tokens_.at_operator("*") || tokens_.at_operator("**")) {
      tokens_.refuse("'" + tokens_.peek().text + "' before an argument");
    }
    const Token& ahead = tokens_.peek(1);
    const bool is_named = tokens_.peek().kind == TokenKind::kName &&
                          ahead.kind == TokenKind::kOperator && ahead.text == "=";
    if (is_named) {
      std::string name = tokens_.next().text;
      tokens_.next();
      arguments.named.emplace_back(std::move(name), parse());
    } else {
      if (!arguments.named.empty()) tokens_.fail_at_token("an argument with a name");
      arguments.positional.push_back(parse());
    }
    if (!tokens_.at_operator(")")) tokens_.expect_operator(",");
  }
  return arguments;
}

ExpressionPtr ExpressionParser::make_application(const Builtin* builtin, const std::string& name,
                                                 ExpressionPtr subject, ArgumentList arguments) {
  if (builtin == nullptr) tokens_.refuse(name);
  std::vector<std::string_view> names;
  for (const auto& [argument, value] : arguments.named) names.push_back(argument);
  if (const auto wrong = complaint_about(builtin->signature, arguments.positional.size(), names)) {
    tokens_.refuse(name + " with " + *wrong);
  }
  return make(Application{builtin, std::move(subject), std::move(arguments)});
}

Target ExpressionParser::parse_target() {
  Target first = parse_target_part();
  if (!tokens_.at_operator(",")) return first;
  Target tuple;
  tuple.parts.push_back(std::move(first));
  while (tokens_.take_operator(",")) {
    const bool is_end =
        tokens_.at_operator("=") || tokens_.at_operator(")") || tokens_.at_name("in");
    if (is_end) break;
    tuple.parts.push_back(parse_target_part());
  }
  return tuple;
}

Target ExpressionParser::parse_target_part() {
  const Nesting nesting(depth_, limits_, tokens_);
  if (tokens_.take_operator("(")) {
    Target inner = parse_target();
    tokens_.expect_operator(")");
    return inner;
  }
  Target target;
  target.name = tokens_.expect_identifier("a name");
  for (const NamedLiteral& literal : kNamedLiterals) {
    if (literal.name == target.name) tokens_.fail_at_token("a name before it");
  }
  if (tokens_.take_operator(".")) target.attribute = tokens_.expect_identifier("a name");
  return target;
}

}  // namespace slip::jinja
