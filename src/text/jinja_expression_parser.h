// The expressions of Jinja. The statement parser owns one and lends it the tokens.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/jinja_ast.h"
#include "text/jinja_lexer.h"
#include "text/jinja_limits.h"

namespace slip::jinja {

// Reads tokens from the front and knows how to complain about them.
class TokenReader {
 public:
  TokenReader(std::vector<Token> tokens, const std::string& origin);

  const Token& peek(size_t n_ahead = 0) const;
  Token next();
  bool at(TokenKind kind, std::string_view text) const;
  bool at_operator(std::string_view text) const { return at(TokenKind::kOperator, text); }
  bool at_name(std::string_view text) const { return at(TokenKind::kName, text); }
  // Consumes the token if it is next.
  bool take_operator(std::string_view text);
  bool take_name(std::string_view text);
  // Consumes the token, or complains about the one that is there.
  void expect_operator(std::string_view text);
  void expect(TokenKind kind, std::string_view wanted);
  // A name that is no keyword.
  std::string expect_identifier(std::string_view wanted);

  // The next token cannot stand here. Jinja that is merely not implemented is refused by name.
  [[noreturn]] void fail_at_token(std::string_view wanted) const;
  [[noreturn]] void refuse(const std::string& what) const;

 private:
  std::vector<Token> tokens_;  // the last one is kEnd
  size_t at_ = 0;
  std::string origin_;
};

// Counts how deep the parser is inside of itself.
class Nesting {
 public:
  Nesting(int& depth, const Limits& limits, const TokenReader& tokens);
  ~Nesting() { --depth_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

 private:
  int& depth_;
};

class ExpressionParser {
 public:
  // Both must outlive this object.
  ExpressionParser(TokenReader& tokens, const Limits& limits) : tokens_(tokens), limits_(limits) {}

  ExpressionPtr parse();

  // Between these two, the name `loop` means the loop around.
  void enter_loop() { ++n_loops_; }
  void leave_loop() { --n_loops_; }

 private:
  ExpressionPtr parse_or();
  ExpressionPtr parse_and();
  ExpressionPtr parse_not();
  ExpressionPtr parse_comparison();
  ExpressionPtr parse_sum();
  ExpressionPtr parse_concatenation();
  ExpressionPtr parse_unary(bool has_filters);
  ExpressionPtr parse_primary();
  ExpressionPtr parse_name();
  ExpressionPtr parse_loop_field();
  ExpressionPtr parse_list();
  ExpressionPtr parse_parentheses();
  ExpressionPtr parse_postfix(ExpressionPtr value);
  ExpressionPtr parse_dot(ExpressionPtr object);
  ExpressionPtr parse_subscript(ExpressionPtr object);
  ExpressionPtr parse_filters(ExpressionPtr value);
  ExpressionPtr parse_test(ExpressionPtr value);
  // The arguments up to and with the closing parenthesis, appended to `args`.
  void parse_args(std::vector<ExpressionPtr>& args);
  ExpressionPtr make_call(const Builtin* builtin, std::string_view what, const std::string& name,
                          std::vector<ExpressionPtr> args, size_t n_subjects);

  template <class Node>
  ExpressionPtr make(Node node);

  TokenReader& tokens_;
  const Limits& limits_;
  int depth_ = 0;
  int n_loops_ = 0;
};

}  // namespace slip::jinja
