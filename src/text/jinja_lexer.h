// Jinja source to tokens. White space control happens here: "-" signs, trim_blocks and
// lstrip_blocks, as in Jinja2 with the settings of Hugging Face.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace slip::jinja {

enum class TokenKind {
  kText,            // outside of tags, to be printed
  kStatementBegin,  // {%
  kStatementEnd,    // %}
  kPrintBegin,      // {{
  kPrintEnd,        // }}
  kName,
  kString,  // text: the value, escapes resolved
  kInteger,
  kFloat,
  kOperator,
  kEnd,
};

struct Token {
  TokenKind kind;
  std::string text;
  int64_t integer;  // of kInteger
  double number;    // of kFloat
  int line;         // from 1
};

// The tokens of `source`, kEnd last. Throws Error{kCorruptFile} or Error{kUnsupportedModel} with
// `origin` and line.
std::vector<Token> lex(std::string_view source, const std::string& origin);

}  // namespace slip::jinja
