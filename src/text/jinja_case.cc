#include "text/jinja_case.h"

#include <algorithm>
#include <array>
#include <string>

#include <utf8proc.h>

#include "text/unicode.h"

namespace slip::jinja {
namespace {

enum class Case { kUpper, kLower, kTitle };

constexpr char32_t kDottedI = 0x130;  // its lower case is two characters
constexpr char32_t kSigma = 0x3A3;    // its lower case depends on its place in the word

utf8proc_category_t category(char32_t value) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(value));
}

// Folding gives several characters exactly where a full mapping to upper or title case may.
bool has_simple_upper(char32_t value) {
  std::array<utf8proc_int32_t, 4> folded{};
  int boundary = 0;
  return utf8proc_decompose_char(static_cast<utf8proc_int32_t>(value), folded.data(),
                                 static_cast<utf8proc_ssize_t>(folded.size()), UTF8PROC_CASEFOLD,
                                 &boundary) == 1;
}

char32_t mapped(Run& run, char32_t value, Case wanted) {
  const bool is_simple =
      wanted == Case::kLower ? value != kDottedI && value != kSigma : has_simple_upper(value);
  if (!is_simple) {
    std::string character;
    append_utf8(character, value);
    run.fail("upper or lower case of '" + character + "' is not one character for one");
  }
  const auto c = static_cast<utf8proc_int32_t>(value);
  return static_cast<char32_t>(wanted == Case::kUpper   ? utf8proc_toupper(c)
                               : wanted == Case::kLower ? utf8proc_tolower(c)
                                                        : utf8proc_totitle(c));
}

// Maps character by character; `choose(previous, character)` names the case, 0 is before the first.
template <class Choose>
Text map_case(Run& run, const Text& text, Choose choose) {
  run.step(text.size());
  run.make(text.cost_bytes());
  Text out;
  char32_t previous = 0;
  text.visit_runs([&](std::string_view bytes, Origin origin) {
    std::string changed;
    while (!bytes.empty()) {
      const CodePoint c = first_code_point(bytes);
      append_utf8(changed, mapped(run, c.value, choose(previous, c.value)));
      previous = c.value;
      bytes.remove_prefix(static_cast<size_t>(c.n_bytes));
    }
    out.append(changed, origin);
  });
  return out;
}

bool is_upper_case(char32_t value) {
  return category(value) == UTF8PROC_CATEGORY_LU ||
         utf8proc_tolower(static_cast<utf8proc_int32_t>(value)) !=
             static_cast<utf8proc_int32_t>(value);
}
bool is_lower_case(char32_t value) {
  return category(value) == UTF8PROC_CATEGORY_LL ||
         utf8proc_toupper(static_cast<utf8proc_int32_t>(value)) !=
             static_cast<utf8proc_int32_t>(value);
}
bool is_cased(char32_t value) {
  return is_upper_case(value) || is_lower_case(value) || category(value) == UTF8PROC_CATEGORY_LT;
}

template <class Visit>
void visit_characters(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const CodePoint c = first_code_point(text);
    visit(c.value);
    text.remove_prefix(static_cast<size_t>(c.n_bytes));
  }
}

bool is_all_one_case(std::string_view text, bool wants_upper) {
  bool has_cased = false;
  bool has_other = false;
  visit_characters(text, [&](char32_t value) {
    const bool is_right = wants_upper ? is_upper_case(value) && !is_lower_case(value)
                                      : is_lower_case(value) && !is_upper_case(value);
    has_cased = has_cased || is_right;
    has_other = has_other || (is_cased(value) && !is_right);
  });
  return has_cased && !has_other;
}

bool is_alphabetic(char32_t value) {
  const auto c = category(value);
  return c >= UTF8PROC_CATEGORY_LU && c <= UTF8PROC_CATEGORY_LO;
}
bool is_number(char32_t value) {
  const auto c = category(value);
  return c >= UTF8PROC_CATEGORY_ND && c <= UTF8PROC_CATEGORY_NO;
}

bool is_digit(Run& run, char32_t value) {
  if (category(value) == UTF8PROC_CATEGORY_NO) run.refuse("isdigit of a number that is no digit");
  return category(value) == UTF8PROC_CATEGORY_ND;
}

bool is_in(Run& run, char32_t value, CharacterClass wanted) {
  switch (wanted) {
    case CharacterClass::kAlphabetic:
      return is_alphabetic(value);
    case CharacterClass::kDigit:
      return is_digit(run, value);
    case CharacterClass::kAlphanumeric:
      return is_alphabetic(value) || is_number(value);
    case CharacterClass::kSpace:
      return is_python_space(value);
  }
  return false;
}

}  // namespace

Text upper(Run& run, const Text& text) {
  return map_case(run, text, [](char32_t, char32_t) { return Case::kUpper; });
}
Text lower(Run& run, const Text& text) {
  return map_case(run, text, [](char32_t, char32_t) { return Case::kLower; });
}
Text capitalize(Run& run, const Text& text) {
  return map_case(run, text, [](char32_t previous, char32_t) {
    return previous == 0 ? Case::kTitle : Case::kLower;
  });
}
Text title(Run& run, const Text& text) {
  return map_case(run, text, [](char32_t previous, char32_t) {
    return previous != 0 && is_cased(previous) ? Case::kLower : Case::kTitle;
  });
}
Text title_words(Run& run, const Text& text) {
  const auto is_border = [](char32_t value) {
    return value == 0 || is_python_space(value) ||
           std::u32string_view(U"-({[<").find(value) != std::u32string_view::npos;
  };
  return map_case(run, text, [is_border](char32_t previous, char32_t) {
    return is_border(previous) ? Case::kUpper : Case::kLower;
  });
}

bool is_upper(std::string_view text) { return is_all_one_case(text, true); }
bool is_lower(std::string_view text) { return is_all_one_case(text, false); }

bool are_all(Run& run, std::string_view text, CharacterClass wanted) {
  run.step(text.size());
  bool are_all_in = !text.empty();
  visit_characters(text,
                   [&](char32_t value) { are_all_in = are_all_in && is_in(run, value, wanted); });
  return are_all_in;
}

bool is_word_character(char32_t value) {
  return value == U'_' || is_alphabetic(value) || is_number(value);
}

}  // namespace slip::jinja
