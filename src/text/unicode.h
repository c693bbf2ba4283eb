// UTF-8 and the few Unicode properties that tokenizing and templates need.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace slip {

inline constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

constexpr bool is_ascii(char c) { return static_cast<unsigned char>(c) < 0x80; }

struct CodePoint {
  char32_t value;
  int n_bytes;  // 1..4
};

// The character at the front of `text`, which is not empty and is valid UTF-8.
CodePoint first_code_point(std::string_view text);

// The bytes of the character at the end of `text`, which is not empty and is valid UTF-8.
int last_code_point_bytes(std::string_view text);

// Appends `value`, a Unicode scalar value.
void append_utf8(std::string& out, char32_t value);

// Turns any bytes into UTF-8 piece by piece: each maximal subpart of a broken character becomes
// U+FFFD (Unicode 15, section 3.9), and bytes that may still grow into a character are held back.
class Utf8Repair {
 public:
  // Appends what is certain after `bytes` to `out`.
  void push(std::string_view bytes, std::string& out);
  // Appends U+FFFD if a character was left unfinished. Afterwards the object is as new.
  void finish(std::string& out);

 private:
  void push_byte(unsigned char byte, std::string& out);

  std::string pending_;            // an unfinished character, at most 3 bytes
  int n_missing_ = 0;              // bytes that it lacks
  unsigned char next_min_ = 0x80;  // range of the byte that may come next
  unsigned char next_max_ = 0xBF;
};

// `bytes` with every broken part replaced.
std::string repair_utf8(std::string_view bytes);

// Unicode White_Space: what \s means to tokenizers.
bool is_white_space(char32_t value);

// What Python's str.strip removes: White_Space and the separators U+001C..U+001F.
bool is_python_space(char32_t value);

// What \w means to tokenizers: Alphabetic, marks, decimal digits, connectors and the two joiners
// (Unicode Technical Standard 18, annex C).
bool is_word(char32_t value);

}  // namespace slip
