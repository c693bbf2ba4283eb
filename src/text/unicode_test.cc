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

TEST(Nfc, ComposesAndOrdersMarks) {
  EXPECT_EQ(nfc("e\u0301 plain A\u030A"), "\u00E9 plain \u00C5");
  EXPECT_EQ(nfc("q\u0307\u0323"), "q\u0323\u0307");
  EXPECT_EQ(nfc("\u1112\u1161\u11AB"), "\uD55C");
  EXPECT_EQ(nfc("\u212B\u0958"), "\u00C5\u0915\u093C");  // singleton; composition exclusion
}

TEST(Nfc, LeavesAsciiAlone) {
  EXPECT_EQ(nfc("int main() {}\r\n"), "int main() {}\r\n");
  EXPECT_EQ(nfc(""), "");
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

}  // namespace
}  // namespace slip
