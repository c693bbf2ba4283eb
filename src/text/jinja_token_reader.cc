#include "text/jinja_token_reader.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "text/jinja_source_error.h"

namespace slip::jinja {
namespace {

constexpr std::array<std::string_view, 7> kKeywords = {"and", "else", "if", "in",
                                                       "is",  "not",  "or"};

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

bool TokenReader::at_identifier() const {
  return peek().kind == TokenKind::kName &&
         std::find(kKeywords.begin(), kKeywords.end(), peek().text) == kKeywords.end();
}

std::string TokenReader::expect_identifier(std::string_view wanted) {
  if (!at_identifier()) fail_at_token(wanted);
  return next().text;
}

void TokenReader::fail_at_token(std::string_view wanted) const {
  const Token& token = peek();
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

}  // namespace slip::jinja
