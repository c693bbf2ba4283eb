#include "text/jinja_expression_parser.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "text/jinja_operations.h"
#include "text/jinja_source_error.h"

namespace slip::jinja {
namespace {

constexpr std::array<std::string_view, 7> kKeywords = {"and", "else", "if", "in",
                                                       "is",  "not",  "or"};
constexpr std::array<std::string_view, 5> kRefusedOperators = {"*", "/", "//", "%", "**"};
// Hugging Face fills these in from the tokenizer's configuration; without that they would print as
// nothing.
constexpr std::array<std::string_view, 7> kRefusedVariables = {
    "bos_token", "cls_token", "eos_token", "mask_token", "pad_token", "sep_token", "unk_token"};

template <size_t kSize>
bool is_among(const std::array<std::string_view, kSize>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

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

struct NamedLoopField {
  std::string_view name;
  Value (*get)(int64_t index0, int64_t length);
};
constexpr std::array kLoopFields = {
    NamedLoopField{"first", [](int64_t index0, int64_t) { return Value(index0 == 0); }},
    NamedLoopField{"index", [](int64_t index0, int64_t) { return Value(index0 + 1); }},
    NamedLoopField{"index0", [](int64_t index0, int64_t) { return Value(index0); }},
    NamedLoopField{"last",
                   [](int64_t index0, int64_t length) { return Value(index0 + 1 == length); }},
    NamedLoopField{"length", [](int64_t, int64_t length) { return Value(length); }},
};

struct ComparisonOperator {
  std::string_view spelling;
  Comparison::Holds holds;
};
constexpr std::array kComparisons = {
    ComparisonOperator{"==", are_equal},
    ComparisonOperator{
        "!=", [](Run& run, const Value& a, const Value& b) { return !are_equal(run, a, b); }},
    ComparisonOperator{
        "<", [](Run& run, const Value& a, const Value& b) { return compare(run, a, b) < 0; }},
    ComparisonOperator{
        "<=", [](Run& run, const Value& a, const Value& b) { return compare(run, a, b) <= 0; }},
    ComparisonOperator{
        ">", [](Run& run, const Value& a, const Value& b) { return compare(run, a, b) > 0; }},
    ComparisonOperator{
        ">=", [](Run& run, const Value& a, const Value& b) { return compare(run, a, b) >= 0; }},
};
bool is_in(Run& run, const Value& element, const Value& container) {
  return contains(run, container, element);
}
bool is_not_in(Run& run, const Value& element, const Value& container) {
  return !contains(run, container, element);
}

// The comparison that is next, consumed; nullptr if none is.
Comparison::Holds take_comparison(TokenReader& tokens) {
  for (const auto& [spelling, holds] : kComparisons) {
    if (tokens.take_operator(spelling)) return holds;
  }
  if (tokens.take_name("in")) return is_in;
  if (tokens.at_name("not") && tokens.peek(1).kind == TokenKind::kName &&
      tokens.peek(1).text == "in") {
    tokens.next();
    tokens.next();
    return is_not_in;
  }
  return nullptr;
}

// The depth of the deepest part of a node.
int depth_of(const ExpressionPtr& part) { return part->depth; }
int depth_of(const std::vector<ExpressionPtr>& parts) {
  int depth = 0;
  for (const auto& part : parts) depth = std::max(depth, part->depth);
  return depth;
}
int depth_below(const Literal&) { return 0; }
int depth_below(const Variable&) { return 0; }
int depth_below(const LoopField&) { return 0; }
int depth_below(const ListOf& node) { return depth_of(node.elements); }
int depth_below(const Member& node) { return std::max(depth_of(node.object), depth_of(node.key)); }
int depth_below(const Not& node) { return depth_of(node.operand); }
int depth_below(const Unary& node) { return depth_of(node.operand); }
int depth_below(const Binary& node) { return std::max(depth_of(node.left), depth_of(node.right)); }
int depth_below(const Logical& node) { return std::max(depth_of(node.left), depth_of(node.right)); }
int depth_below(const Comparison& node) {
  int depth = depth_of(node.first);
  for (const auto& [holds, operand] : node.rest) depth = std::max(depth, depth_of(operand));
  return depth;
}
int depth_below(const Call& node) { return depth_of(node.args); }

}  // namespace

TokenReader::TokenReader(std::vector<Token> tokens, const std::string& origin)
    : tokens_(std::move(tokens)), origin_(origin) {
  SLIP_CHECK(!tokens_.empty() && tokens_.back().kind == TokenKind::kEnd);
}

const Token& TokenReader::peek(size_t n_ahead) const {
  return tokens_[std::min(at_ + n_ahead, tokens_.size() - 1)];
}

Token TokenReader::next() {
  Token token = peek();
  if (at_ + 1 < tokens_.size()) ++at_;
  return token;
}

bool TokenReader::at(TokenKind kind, std::string_view text) const {
  return peek().kind == kind && peek().text == text;
}

bool TokenReader::take_operator(std::string_view text) {
  if (!at_operator(text)) return false;
  next();
  return true;
}

bool TokenReader::take_name(std::string_view text) {
  if (!at_name(text)) return false;
  next();
  return true;
}

void TokenReader::expect_operator(std::string_view text) {
  if (!take_operator(text)) fail_at_token("'" + std::string(text) + "'");
}

void TokenReader::expect(TokenKind kind, std::string_view wanted) {
  if (peek().kind != kind) fail_at_token(wanted);
  next();
}

std::string TokenReader::expect_identifier(std::string_view wanted) {
  if (peek().kind != TokenKind::kName || is_among(kKeywords, peek().text)) fail_at_token(wanted);
  return next().text;
}

void TokenReader::fail_at_token(std::string_view wanted) const {
  const Token& token = peek();
  if (token.kind == TokenKind::kOperator && is_among(kRefusedOperators, token.text)) {
    refuse("operator '" + token.text + "'");
  }
  const std::string found =
      token.kind == TokenKind::kEnd ? "the end" : "'" + token.text.substr(0, 40) + "'";
  syntax_error(origin_, token.line, found + ", wanted " + std::string(wanted));
}

void TokenReader::refuse(const std::string& what) const { unsupported(origin_, peek().line, what); }

Nesting::Nesting(int& depth, const Limits& limits, const TokenReader& tokens) : depth_(depth) {
  if (depth_ >= limits.nesting_max)
    tokens.refuse("nesting deeper than " + std::to_string(limits.nesting_max));
  ++depth_;
}

template <class Node>
ExpressionPtr ExpressionParser::make(Node node) {
  const int depth = 1 + depth_below(node);
  if (depth > limits_.nesting_max) {
    tokens_.refuse("an expression deeper than " + std::to_string(limits_.nesting_max));
  }
  return std::make_unique<const Expression>(
      Expression{std::move(node), tokens_.peek().line, depth});
}

ExpressionPtr ExpressionParser::parse() {
  const Nesting nesting(depth_, limits_, tokens_);
  ExpressionPtr value = parse_or();
  if (tokens_.at_name("if")) tokens_.refuse("'if' behind an expression");
  return value;
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
  while (tokens_.at_operator("+") || tokens_.at_operator("-")) {
    const auto apply = tokens_.next().text == "+" ? add : subtract;
    left = make(Binary{apply, std::move(left), parse_concatenation()});
  }
  return left;
}

ExpressionPtr ExpressionParser::parse_concatenation() {
  ExpressionPtr left = parse_unary(true);
  while (tokens_.take_operator("~"))
    left = make(Binary{concatenate, std::move(left), parse_unary(true)});
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
    value = parse_postfix(parse_primary());
  }
  return has_filters ? parse_filters(std::move(value)) : std::move(value);
}

ExpressionPtr ExpressionParser::parse_primary() {
  if (tokens_.peek().kind == TokenKind::kName) return parse_name();
  if (tokens_.peek().kind == TokenKind::kInteger)
    return make(Literal{Value(tokens_.next().integer)});
  if (tokens_.peek().kind == TokenKind::kString) {
    std::string text;
    while (tokens_.peek().kind == TokenKind::kString) text += tokens_.next().text;
    return make(Literal{Value(std::move(text))});
  }
  if (tokens_.take_operator("[")) return parse_list();
  if (tokens_.take_operator("(")) return parse_parentheses();
  if (tokens_.at_operator("{")) tokens_.refuse("a mapping in braces");
  tokens_.fail_at_token("an expression");
}

ExpressionPtr ExpressionParser::parse_name() {
  const std::string name = tokens_.expect_identifier("an expression");
  for (const NamedLiteral& literal : kNamedLiterals) {
    if (literal.name == name) return make(Literal{literal.value()});
  }
  if (name == "loop" && n_loops_ > 0) return parse_loop_field();
  if (tokens_.take_operator("(")) {
    std::vector<ExpressionPtr> args;
    parse_args(args);
    return make_call(find_function(name), "function", name, std::move(args), 0);
  }
  if (is_among(kRefusedVariables, name)) tokens_.refuse("variable '" + name + "'");
  return make(Variable{name});
}

ExpressionPtr ExpressionParser::parse_loop_field() {
  if (!tokens_.take_operator(".")) tokens_.refuse("'loop' without a field");
  const std::string name = tokens_.expect_identifier("a field of loop");
  for (const NamedLoopField& field : kLoopFields) {
    if (field.name == name) return make(LoopField{field.get});
  }
  tokens_.refuse("'loop." + name + "'");
}

ExpressionPtr ExpressionParser::parse_list() {
  ListOf list;
  while (!tokens_.take_operator("]")) {
    list.elements.push_back(parse());
    if (!tokens_.at_operator("]")) tokens_.expect_operator(",");
  }
  return make(std::move(list));
}

ExpressionPtr ExpressionParser::parse_parentheses() {
  if (tokens_.at_operator(")")) tokens_.refuse("a tuple");
  ExpressionPtr value = parse();
  if (tokens_.at_operator(",")) tokens_.refuse("a tuple");
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
      tokens_.refuse("a call of a value");
    } else {
      return value;
    }
  }
}

ExpressionPtr ExpressionParser::parse_dot(ExpressionPtr object) {
  if (tokens_.peek().kind != TokenKind::kName) tokens_.fail_at_token("a name");
  const std::string name = tokens_.next().text;
  if (!tokens_.take_operator("(")) {
    ExpressionPtr key = make(Literal{Value(name)});
    return make(Member{std::move(object), std::move(key)});
  }
  std::vector<ExpressionPtr> args;
  args.push_back(std::move(object));
  parse_args(args);
  return make_call(find_method(name), "method", name, std::move(args), 1);
}

ExpressionPtr ExpressionParser::parse_subscript(ExpressionPtr object) {
  if (tokens_.at_operator(":")) tokens_.refuse("a slice");
  ExpressionPtr key = parse();
  if (tokens_.at_operator(":")) tokens_.refuse("a slice");
  tokens_.expect_operator("]");
  return make(Member{std::move(object), std::move(key)});
}

ExpressionPtr ExpressionParser::parse_filters(ExpressionPtr value) {
  while (true) {
    if (tokens_.take_name("is")) {
      value = parse_test(std::move(value));
    } else if (tokens_.take_operator("|")) {
      const std::string name = tokens_.expect_identifier("a filter");
      std::vector<ExpressionPtr> args;
      args.push_back(std::move(value));
      if (tokens_.take_operator("(")) parse_args(args);
      value = make_call(find_filter(name), "filter", name, std::move(args), 1);
    } else {
      return value;
    }
  }
}

ExpressionPtr ExpressionParser::parse_test(ExpressionPtr value) {
  const bool is_negated = tokens_.take_name("not");
  if (tokens_.peek().kind != TokenKind::kName) tokens_.fail_at_token("a test");
  const std::string name = tokens_.next().text;
  std::vector<ExpressionPtr> args;
  args.push_back(std::move(value));
  ExpressionPtr result = make_call(find_test(name), "test", name, std::move(args), 1);
  return is_negated ? make(Not{std::move(result)}) : std::move(result);
}

void ExpressionParser::parse_args(std::vector<ExpressionPtr>& args) {
  while (!tokens_.take_operator(")")) {
    args.push_back(parse());
    if (tokens_.at_operator("=")) tokens_.refuse("an argument by name");
    if (!tokens_.at_operator(")")) tokens_.expect_operator(",");
  }
}

ExpressionPtr ExpressionParser::make_call(const Builtin* builtin, std::string_view what,
                                          const std::string& name, std::vector<ExpressionPtr> args,
                                          size_t n_subjects) {
  const std::string full_name = std::string(what) + " '" + name + "'";
  if (builtin == nullptr) tokens_.refuse(full_name);
  const size_t n_args = args.size() - n_subjects;
  if (n_args < builtin->n_args_min || n_args > builtin->n_args_max) {
    tokens_.refuse(full_name + " with " + std::to_string(n_args) + " arguments");
  }
  return make(Call{builtin, std::move(args)});
}

}  // namespace slip::jinja
