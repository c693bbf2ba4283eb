#include "text/unicode.h"

#include <vector>

#include <gtest/gtest.h>

namespace slip {
namespace {

struct Repair {
  std::string bytes, wanted;
};

TEST(RepairUtf8, ReplacesEachMaximalSubpart) {
  const std::vector<Repair> cases = {
      {"plain", "plain"},
      {"\xC3\xA9\xE4\xB8\xAD\xF0\x9F\x98\x80\xF4\x8F\xBF\xBF", "\u00E9\u4E2D\U0001F600\U0010FFFF"},
      {"\x80", "\uFFFD"},
      {"\xC0\xAF", "\uFFFD\uFFFD"},                      // overlong
      {"\xE0\x80\x80", "\uFFFD\uFFFD\uFFFD"},            // overlong
      {"\xED\xA0\x80", "\uFFFD\uFFFD\uFFFD"},            // surrogate
      {"\xF4\x90\x80\x80", "\uFFFD\uFFFD\uFFFD\uFFFD"},  // above U+10FFFF
      {"\xF8", "\uFFFD"},
      {"\xF0\x9F\x98"
       "a",
       "\uFFFD"
       "a"},
      {"\xE4\xB8\xC3\xA9", "\uFFFD\u00E9"},
      {"a\xF0\x9F", "a\uFFFD"},
  };
  for (const Repair& test : cases) EXPECT_EQ(repair_utf8(test.bytes), test.wanted);
}

TEST(CodePoints, AreReadFromBothEnds) {
  const std::string text = "a\u00E9\u4E2D\U0001F600";
  EXPECT_EQ(first_code_point(std::string_view(text).substr(1)).value, U'\u00E9');
  EXPECT_EQ(first_code_point(std::string_view(text).substr(6)).n_bytes, 4);
  EXPECT_EQ(last_code_point_bytes(text), 4);
  EXPECT_EQ(last_code_point_bytes(std::string_view(text).substr(0, 6)), 3);
  EXPECT_EQ(last_code_point_bytes("a"), 1);
}

TEST(WhiteSpace, ExcludesTheVowelSeparatorAndForPythonIncludesSeparators) {
  EXPECT_TRUE(is_white_space(0x3000));
  EXPECT_FALSE(is_white_space(0x180E));
  EXPECT_FALSE(is_white_space(0x1C));
  EXPECT_TRUE(is_python_space(0x1C));
}

TEST(Words, HaveLettersMarksDigitsConnectorsAndJoiners) {
  for (const char32_t c :
       {U'a', U'\u00AA', U'\u4E2D', U'\u2167', U'\u0301', U'\u0903', U'\u20DD', U'5', U'\u0661',
        U'_', U'\u203F', U'\u200C', U'\u200D', U'\u24B6', U'\U0001F170'}) {
    EXPECT_TRUE(is_word(c)) << std::hex << static_cast<uint32_t>(c);
  }
  for (const char32_t c :
       {U' ', U'.', U'<', U'\u00BD', U'\u00B2', U'\u200B', U'\u2460', U'\U0001F600', U'-'}) {
    EXPECT_FALSE(is_word(c)) << std::hex << static_cast<uint32_t>(c);
  }
}

}  // namespace
}  // namespace slip
