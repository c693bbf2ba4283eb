#include "text/regex_dialect.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/json.h"
#include "text/ascii.h"

namespace slip {
namespace {

// Unicode White_Space, as the inside of a set. PCRE2's own \s also has U+180E, which left the
// property with Unicode 6.3.
#define SLIP_WHITE_SPACE \
  R"(\t-\r \x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})"

// Letters behind a backslash that are understood, and what they become outside and inside a set.
struct Escape {
  char letter;
  std::string_view outside, inside;
};
constexpr std::array kEscapes = {
    Escape{'s', "[" SLIP_WHITE_SPACE "]", SLIP_WHITE_SPACE},
    Escape{'S', "[^" SLIP_WHITE_SPACE "]", R"(\P{White_Space})"},
    Escape{'d', R"(\p{Nd})", R"(\p{Nd})"},
    Escape{'D', R"(\P{Nd})", R"(\P{Nd})"},
    Escape{'r', R"(\r)", R"(\r)"},
    Escape{'n', R"(\n)", R"(\n)"},
    Escape{'t', R"(\t)", R"(\t)"},
    Escape{'f', R"(\f)", R"(\f)"},
};
#undef SLIP_WHITE_SPACE

// What may follow an opening parenthesis and a question mark.
constexpr std::array<std::string_view, 7> kGroups = {"?:", "?=", "?!", "?>", "?<=", "?<!", "?i:"};

class Translator {
 public:
  Translator(std::string_view pattern, const std::string& origin)
      : rest_(pattern), origin_(origin) {}

  std::string translate() {
    while (!rest_.empty()) {
      switch (rest_.front()) {
        case '\\':
          escape();
          break;
        case '(':
          is_in_set_ ? take(1) : group();
          break;
        case '{':
          is_in_set_ ? take(1) : interval();
          break;
        case '[':
          open_set();
          break;
        case ']':
          close_set();
          break;
        case '&':
          if (is_in_set_ && rest_.starts_with("&&")) refuse(2);
          take(1);
          break;
        default:
          take(1);
      }
    }
    return std::move(out_);
  }

 private:
  [[noreturn]] void refuse(size_t n_bytes) const {
    throw Error(ErrorCode::kUnsupportedModel,
                origin_ + ": Regex: " + quote(rest_.substr(0, n_bytes)) + " is not supported");
  }
  void take(size_t n_bytes) {
    out_ += rest_.substr(0, n_bytes);
    rest_.remove_prefix(std::min(n_bytes, rest_.size()));
  }

  void escape() {
    if (rest_.size() < 2) refuse(1);
    const char letter = rest_[1];
    if (letter == 'p' || letter == 'P') return property();
    const auto* known = std::find_if(kEscapes.begin(), kEscapes.end(),
                                     [&](const Escape& e) { return e.letter == letter; });
    if (known != kEscapes.end()) {
      out_ += is_in_set_ ? known->inside : known->outside;
      return rest_.remove_prefix(2);
    }
    if (rest_.starts_with(R"(\x{)")) return take(3);
    if (is_ascii_letter(letter) || is_ascii_digit(letter)) refuse(2);
    take(2);
  }

  // \p{L}, \p{^L}, \P{Nd}: general categories mean the same to both.
  void property() {
    const size_t end = rest_.find('}');
    const size_t n_bytes = end == std::string_view::npos ? rest_.size() : end + 1;
    std::string_view name = rest_.substr(2, n_bytes - 2);
    if (!name.starts_with('{') || !name.ends_with('}')) refuse(std::min<size_t>(n_bytes, 8));
    name = name.substr(1, name.size() - 2);
    if (name.starts_with('^')) name.remove_prefix(1);
    const bool is_category = !name.empty() && name.size() <= 2 && name[0] >= 'A' &&
                             name[0] <= 'Z' &&
                             (name.size() == 1 || (name[1] >= 'a' && name[1] <= 'z'));
    if (!is_category) refuse(n_bytes);
    take(n_bytes);
  }

  void group() {
    const std::string_view inside = rest_.substr(1);
    const bool is_known = (!inside.starts_with('?') && !inside.starts_with('*')) ||
                          std::any_of(kGroups.begin(), kGroups.end(), [&](std::string_view prefix) {
                            return inside.starts_with(prefix);
                          });
    if (!is_known) refuse(4);
    take(inside.starts_with('?') ? 2 : 1);
  }

  // {n}, {n,} or {n,m}
  void interval() {
    size_t end = 1;
    while (end < rest_.size() && (is_ascii_digit(rest_[end]) || rest_[end] == ',')) ++end;
    const std::string_view after = rest_.substr(std::min(end + 1, rest_.size()));
    const bool is_known = rest_.size() > end && rest_[end] == '}' && end > 1 &&
                          is_ascii_digit(rest_[1]) && !after.starts_with('+') &&
                          !after.starts_with('?');
    if (!is_known) refuse(end + 2);
    take(end + 1);
  }

  void open_set() {
    if (is_in_set_) refuse(2);
    is_in_set_ = true;
    take(rest_.starts_with("[^") ? 2 : 1);
    if (rest_.starts_with(']')) refuse(1);
  }

  void close_set() {
    is_in_set_ = false;
    take(1);
  }

  std::string_view rest_;  // not yet read
  const std::string& origin_;
  std::string out_;
  bool is_in_set_ = false;
};

}  // namespace

std::string to_pcre2(std::string_view pattern, const std::string& origin) {
  return Translator(pattern, origin).translate();
}

}  // namespace slip
