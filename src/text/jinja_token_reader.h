// Reads tokens from the front and knows how to complain about them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/jinja_lexer.h"
#include "text/jinja_limits.h"

namespace slip::jinja {

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
  bool at_identifier() const;

  // The next token cannot stand here.
  [[noreturn]] void fail_at_token(std::string_view wanted) const;
  // Jinja that is merely not implemented.
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

}  // namespace slip::jinja
