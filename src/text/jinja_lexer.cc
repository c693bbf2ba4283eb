#include "text/jinja_lexer.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "text/jinja_source_error.h"
#include "text/jinja_strings.h"
#include "text/unicode.h"

namespace slip::jinja {
namespace {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
constexpr bool is_name_part(char c) { return is_name_start(c) || is_digit(c); }

// Longer ones first. All of Jinja's, so that those without meaning here are refused by name.
constexpr std::array<std::string_view, 26> kOperators = {
    "//", "**", "==", "!=", "<=", ">=", "+", "-", "*", "/", "%", "~", "<",
    ">",  "=",  "(",  ")",  "[",  "]",  "{", "}", ".", ",", "|", ":", ";"};

struct Tag {
  std::string_view open, close;
  TokenKind begin, end;
  bool is_line_tag;  // lstrip_blocks and trim_blocks apply
};
constexpr Tag kPrint = {"{{", "}}", TokenKind::kPrintBegin, TokenKind::kPrintEnd, false};
constexpr Tag kStatement = {"{%", "%}", TokenKind::kStatementBegin, TokenKind::kStatementEnd, true};
constexpr Tag kComment = {"{#", "#}", TokenKind::kText, TokenKind::kText, true};

// Line ends become "\n" and one at the very end is dropped, as in Jinja2.
std::string with_plain_line_ends(std::string_view source) {
  std::string out;
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out.push_back(source[i]);
      continue;
    }
    out.push_back('\n');
    if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

class Lexer {
 public:
  Lexer(std::string_view source, const std::string& origin)
      : source_(with_plain_line_ends(repair_utf8(source))), rest_(source_), origin_(origin) {}

  std::vector<Token> run() {
    while (!rest_.empty()) {
      const size_t begin = find_tag();
      if (begin == std::string_view::npos) {
        add_text(rest_);
        skip(rest_.size());
        break;
      }
      const std::string_view text = rest_.substr(0, begin);
      lex_tag(text, tag_at(rest_.substr(begin)));
    }
    add(TokenKind::kEnd, "");
    return std::move(tokens_);
  }

 private:
  size_t find_tag() const {
    for (size_t at = rest_.find('{'); at != std::string_view::npos; at = rest_.find('{', at + 1)) {
      const std::string_view two = rest_.substr(at, 2);
      if (two == kPrint.open || two == kStatement.open || two == kComment.open) return at;
    }
    return std::string_view::npos;
  }

  static const Tag& tag_at(std::string_view text) {
    return text[1] == '{' ? kPrint : text[1] == '%' ? kStatement : kComment;
  }

  void lex_tag(std::string_view text, const Tag& tag) {
    const size_t sign_at = text.size() + tag.open.size();
    const char sign = sign_at < rest_.size() ? rest_[sign_at] : ' ';
    const bool is_signed = sign == '-' || sign == '+';
    if (sign == '-') {
      text.remove_suffix(python_spaces_at_end(text));
    } else if (tag.is_line_tag && sign != '+') {
      text.remove_suffix(indentation_bytes(text));
    }
    add_text(text);
    skip(sign_at + (is_signed ? 1 : 0));
    if (&tag == &kComment) return skip_comment();
    add(tag.begin, std::string(tag.open));
    while (!at_end_of(tag)) lex_expression_token(tag);
  }

  // The white space that lstrip_blocks removes: all between the start of the line and the tag.
  size_t indentation_bytes(std::string_view text) const {
    const size_t line_end = text.rfind('\n');
    if (line_end == std::string_view::npos && !is_line_start_) return 0;
    const std::string_view line =
        line_end == std::string_view::npos ? text : text.substr(line_end + 1);
    return python_spaces_at_end(line) == line.size() ? line.size() : 0;
  }

  void skip_comment() {
    const size_t end = rest_.find(kComment.close);
    if (end == std::string_view::npos) fail("comment without #}");
    const char sign = end > 0 ? rest_[end - 1] : ' ';
    skip(end + kComment.close.size());
    skip_after_tag(kComment, sign);
  }

  // Consumes the end of the tag, with its sign and the white space that goes with it, if it is
  // next.
  bool at_end_of(const Tag& tag) {
    skip(python_spaces_at_front(rest_));
    if (rest_.empty()) fail("tag without " + std::string(tag.close));
    const bool is_signed = rest_[0] == '-' || (rest_[0] == '+' && tag.is_line_tag);
    const size_t at = is_signed ? 1 : 0;
    if (rest_.substr(at, tag.close.size()) != tag.close) return false;
    const char sign = is_signed ? rest_[0] : ' ';
    skip(at);
    add(tag.end, std::string(tag.close));
    skip(tag.close.size());
    skip_after_tag(tag, sign);
    return true;
  }

  void skip_after_tag(const Tag& tag, char sign) {
    const std::string_view before = rest_;
    if (sign == '-') {
      skip(python_spaces_at_front(rest_));
    } else if (tag.is_line_tag && sign != '+' && rest_.starts_with('\n')) {
      skip(1);
    }
    const size_t n_skipped = before.size() - rest_.size();
    is_line_start_ = n_skipped > 0 && before[n_skipped - 1] == '\n';
  }

  void lex_expression_token(const Tag& tag) {
    const char c = rest_[0];
    if (is_name_start(c)) {
      const auto end = std::find_if_not(rest_.begin(), rest_.end(), is_name_part);
      const auto name = rest_.substr(0, static_cast<size_t>(end - rest_.begin()));
      // What follows need not be Jinja at all, so it is refused here and not by the parser.
      if (name == "raw" && tokens_.back().kind == TokenKind::kStatementBegin) {
        unsupported(origin_, line_, "statement 'raw'");
      }
      add(TokenKind::kName, std::string(name));
      return skip(name.size());
    }
    if (is_digit(c)) return lex_integer();
    if (c == '\'' || c == '"') return lex_string(c);
    for (const std::string_view op : kOperators) {
      if (!rest_.starts_with(op)) continue;
      add(TokenKind::kOperator, std::string(op));
      return skip(op.size());
    }
    const auto n_bytes = static_cast<size_t>(first_code_point(rest_).n_bytes);
    fail("unexpected '" + std::string(rest_.substr(0, n_bytes)) + "' in " + std::string(tag.open));
  }

  void lex_integer() {
    const auto end = std::find_if_not(rest_.begin(), rest_.end(), is_digit);
    const auto n_digits = static_cast<size_t>(end - rest_.begin());
    const std::string digits(rest_.substr(0, n_digits));
    const std::string_view next = rest_.substr(n_digits, 2);
    if (!next.empty() && is_name_part(next[0]))
      unsupported(origin_, line_, "number '" + digits + next[0] + "'");
    if (next.size() == 2 && next[0] == '.' && is_digit(next[1])) {
      unsupported(origin_, line_, "number '" + digits + "." + next[1] + "'");
    }
    int64_t value = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (read.ec != std::errc())
      unsupported(origin_, line_, "number '" + digits.substr(0, 40) + "'");
    if (digits[0] == '0' && value != 0) fail("number '" + digits.substr(0, 40) + "' starts with 0");
    add(TokenKind::kInteger, digits);
    tokens_.back().integer = value;
    skip(n_digits);
  }

  void lex_string(char quote) {
    size_t end = 1;
    while (end < rest_.size() && rest_[end] != quote) end += rest_[end] == '\\' ? 2 : 1;
    if (end >= rest_.size()) fail("string without closing quote");
    add(TokenKind::kString, unescape(rest_.substr(1, end - 1), origin_, line_));
    skip(end + 1);
  }

  void add(TokenKind kind, std::string text) {
    tokens_.push_back({kind, std::move(text), 0, line_});
  }
  void add_text(std::string_view text) {
    if (!text.empty()) add(TokenKind::kText, std::string(text));
  }
  void skip(size_t n_bytes) {
    line_ += static_cast<int>(
        std::count(rest_.begin(), rest_.begin() + static_cast<ptrdiff_t>(n_bytes), '\n'));
    rest_.remove_prefix(n_bytes);
  }
  [[noreturn]] void fail(const std::string& what) const { syntax_error(origin_, line_, what); }

  std::string source_;
  std::string_view rest_;
  const std::string& origin_;
  int line_ = 1;
  bool is_line_start_ = true;  // whether the text after the last tag begins a line
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> lex(std::string_view source, const std::string& origin) {
  return Lexer(source, origin).run();
}

}  // namespace slip::jinja
