#include "text/jinja_lexer.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "text/ascii.h"
#include "text/jinja_source_error.h"
#include "text/jinja_strings.h"
#include "text/unicode.h"

namespace slip::jinja {
namespace {

constexpr bool is_name_start(char c) { return is_ascii_letter(c) || c == '_'; }
constexpr bool is_name_part(char c) { return is_name_start(c) || is_ascii_digit(c); }

// Longer ones first.
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
    add_text(text_before(text, tag, sign));
    skip(sign_at + (is_signed ? 1 : 0));
    if (&tag == &kComment) return skip_comment();
    if (&tag == &kStatement && skip_raw_begin()) return lex_raw();
    add(tag.begin, std::string(tag.open));
    open_.clear();
    while (!at_end_of(tag)) lex_expression_token(tag);
  }

  // Consumes the rest of a {% raw %}, if it is one. Unlike other tags it keeps the line end behind.
  bool skip_raw_begin() {
    size_t at = python_spaces_at_front(rest_);
    if (!rest_.substr(at).starts_with("raw")) return false;
    at += 3;
    at += python_spaces_at_front(rest_.substr(at));
    const bool is_signed = rest_.substr(at).starts_with('-');
    if (is_signed) ++at;
    if (!rest_.substr(at).starts_with(kStatement.close)) return false;
    skip(at + kStatement.close.size());
    skip_after_tag(kPrint, is_signed ? '-' : ' ');
    return true;
  }

  // The text up to {% endraw %}, whatever it looks like.
  void lex_raw() {
    for (size_t at = rest_.find(kStatement.open); at != std::string_view::npos;
         at = rest_.find(kStatement.open, at + 1)) {
      size_t end = at + kStatement.open.size();
      const char sign = end < rest_.size() ? rest_[end] : ' ';
      if (sign == '-' || sign == '+') ++end;
      end += python_spaces_at_front(rest_.substr(end));
      if (!rest_.substr(end).starts_with("endraw")) continue;
      end += std::string_view("endraw").size();
      end += python_spaces_at_front(rest_.substr(end));
      const char end_sign = end < rest_.size() ? rest_[end] : ' ';
      if (end_sign == '-' || end_sign == '+') ++end;
      if (!rest_.substr(end).starts_with(kStatement.close)) continue;
      add_text(text_before(rest_.substr(0, at), kStatement, sign));
      skip(end + kStatement.close.size());
      return skip_after_tag(kStatement, end_sign);
    }
    fail("raw without endraw");
  }

  // What is left of the text before a tag.
  std::string_view text_before(std::string_view text, const Tag& tag, char sign) const {
    if (sign == '-') {
      text.remove_suffix(python_spaces_at_end(text));
    } else if (tag.is_line_tag && sign != '+') {
      text.remove_suffix(indentation_bytes(text));
    }
    return text;
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
    if (!open_.empty()) return false;  // inside of brackets "}}" closes two mappings
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
      add(TokenKind::kName, std::string(name));
      return skip(name.size());
    }
    if (is_ascii_digit(c)) return lex_number();
    if (c == '\'' || c == '"') return lex_string(c);
    for (const std::string_view op : kOperators) {
      if (!rest_.starts_with(op)) continue;
      add(TokenKind::kOperator, std::string(op));
      balance(op[0]);
      return skip(op.size());
    }
    const auto n_bytes = static_cast<size_t>(first_code_point(rest_).n_bytes);
    fail("unexpected '" + std::string(rest_.substr(0, n_bytes)) + "' in " + std::string(tag.open));
  }

  // Keeps track of open brackets.
  void balance(char c) {
    constexpr std::string_view kOpen = "([{";
    constexpr std::string_view kClose = ")]}";
    if (kOpen.find(c) != std::string_view::npos) open_ += c;
    const size_t kind = kClose.find(c);
    if (kind == std::string_view::npos) return;
    if (!open_.ends_with(kOpen[kind])) fail("unexpected '" + std::string(1, c) + "'");
    open_.pop_back();
  }

  size_t n_digits_at(size_t at) const {
    const std::string_view rest = rest_.substr(std::min(at, rest_.size()));
    return static_cast<size_t>(std::find_if_not(rest.begin(), rest.end(), is_ascii_digit) -
                               rest.begin());
  }

  // How long the float is that is next; 0 if none is. Behind a dot, digits are an index: x.1.2
  size_t float_bytes() const {
    const bool is_index = rest_.data() != source_.data() && rest_.data()[-1] == '.';
    size_t end = n_digits_at(0);
    const size_t n_whole = end;
    if (is_index) return 0;
    if (rest_.substr(end).starts_with('.') && n_digits_at(end + 1) > 0) {
      end += 1 + n_digits_at(end + 1);
    }
    if (end < rest_.size() && (rest_[end] == 'e' || rest_[end] == 'E')) {
      size_t digits = end + 1;
      if (digits < rest_.size() && (rest_[digits] == '+' || rest_[digits] == '-')) ++digits;
      if (n_digits_at(digits) > 0) end = digits + n_digits_at(digits);
    }
    return end == n_whole ? 0 : end;
  }

  void lex_number() {
    const size_t n_float = float_bytes();
    const size_t n_bytes = n_float > 0 ? n_float : n_digits_at(0);
    const std::string digits(rest_.substr(0, n_bytes));
    const char next = n_bytes < rest_.size() ? rest_[n_bytes] : ' ';
    const bool has_base =
        digits == "0" && std::string_view("xXoObB").find(next) != std::string_view::npos;
    if (next == '_' || has_base) unsupported(origin_, line_, "number '" + digits + next + "'");
    int64_t integer = 0;
    double number = 0;
    const auto read = n_float > 0
                          ? std::from_chars(digits.data(), digits.data() + digits.size(), number)
                          : std::from_chars(digits.data(), digits.data() + digits.size(), integer);
    if (read.ec != std::errc())
      unsupported(origin_, line_, "number '" + digits.substr(0, 40) + "'");
    if (n_float == 0 && digits[0] == '0' && integer != 0) {
      fail("number '" + digits.substr(0, 40) + "' starts with 0");
    }
    add(n_float > 0 ? TokenKind::kFloat : TokenKind::kInteger, digits);
    tokens_.back().integer = integer;
    tokens_.back().number = number;
    skip(n_bytes);
  }

  void lex_string(char quote) {
    size_t end = 1;
    while (end < rest_.size() && rest_[end] != quote) end += rest_[end] == '\\' ? 2 : 1;
    if (end >= rest_.size()) fail("string without closing quote");
    add(TokenKind::kString, unescape(rest_.substr(1, end - 1), origin_, line_));
    skip(end + 1);
  }

  void add(TokenKind kind, std::string text) {
    tokens_.push_back({kind, std::move(text), 0, 0, line_});
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
  std::string open_;           // the brackets that are open in the tag
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> lex(std::string_view source, const std::string& origin) {
  return Lexer(source, origin).run();
}

}  // namespace slip::jinja
