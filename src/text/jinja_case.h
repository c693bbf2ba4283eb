// Upper, lower and title case as Python has them, for characters whose other case is one character.
// What is not one for one (sharp s, a final sigma) is refused.
#pragma once

#include "text/jinja_run.h"
#include "text/jinja_text.h"

namespace slip::jinja {

Text upper(Run& run, const Text& text);
Text lower(Run& run, const Text& text);
// str.capitalize: the first character in title case, all others in lower case.
Text capitalize(Run& run, const Text& text);
// str.title: so for every run of letters.
Text title(Run& run, const Text& text);

// The filter `title`: the first character behind white space and one of -({[< in upper case, all
// others in lower case.
Text title_words(Run& run, const Text& text);

// str.isupper and str.islower: all letters are, and there is one.
bool is_upper(std::string_view text);
bool is_lower(std::string_view text);

enum class CharacterClass { kAlphabetic, kDigit, kAlphanumeric, kSpace };
// str.isalpha and its like: all characters are in the class, and there is one. Fails for a digit
// that is more than a decimal one.
bool are_all(Run& run, std::string_view text, CharacterClass wanted);
bool is_word_character(char32_t value);

}  // namespace slip::jinja
