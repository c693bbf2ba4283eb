#include "text/normalize.h"

#include <gtest/gtest.h>

namespace slip {
namespace {

TEST(Normalize, ComposesAndOrdersMarks) {
  const auto nfc = [](std::string_view text) { return normalize(text, NormalForm::kNfc); };
  EXPECT_EQ(nfc("e\u0301 plain A\u030A"), "\u00E9 plain \u00C5");
  EXPECT_EQ(nfc("q\u0307\u0323"), "q\u0323\u0307");
  EXPECT_EQ(nfc("\u1112\u1161\u11AB"), "\uD55C");
  EXPECT_EQ(nfc("\u212B\u0958"), "\u00C5\u0915\u093C");  // singleton; composition exclusion
}

TEST(Normalize, KnowsFourForms) {
  const std::string text = "\u1E9B\u0323 \uFB01 e\u0301 \uD55C";  // UAX 15, figure 6, and more
  EXPECT_EQ(normalize(text, NormalForm::kNfc), "\u1E9B\u0323 \uFB01 \u00E9 \uD55C");
  EXPECT_EQ(normalize(text, NormalForm::kNfd),
            "\u017F\u0323\u0307 \uFB01 e\u0301 \u1112\u1161\u11AB");
  EXPECT_EQ(normalize(text, NormalForm::kNfkc), "\u1E69 fi \u00E9 \uD55C");
  EXPECT_EQ(normalize(text, NormalForm::kNfkd), "s\u0323\u0307 fi e\u0301 \u1112\u1161\u11AB");
}

TEST(Normalize, HasRoomForTheLongestDecomposition) {
  EXPECT_EQ(normalize("\uFDFA", NormalForm::kNfkd).size(), 33u);  // 15 letters and 3 spaces
}

TEST(Normalize, LeavesAsciiAlone) {
  for (const NormalForm form :
       {NormalForm::kNfc, NormalForm::kNfd, NormalForm::kNfkc, NormalForm::kNfkd}) {
    EXPECT_EQ(normalize("int main() {}\r\n", form), "int main() {}\r\n");
    EXPECT_EQ(normalize("", form), "");
  }
}

TEST(CombinedForms, AreWhatOneAfterTheOtherGives) {
  const std::string text = "\u1E9B\u0323 \uFB01 e\u0301";
  for (const NormalForm first :
       {NormalForm::kNfc, NormalForm::kNfd, NormalForm::kNfkc, NormalForm::kNfkd}) {
    for (const NormalForm second :
         {NormalForm::kNfc, NormalForm::kNfd, NormalForm::kNfkc, NormalForm::kNfkd}) {
      EXPECT_EQ(normalize(text, combined(first, second)),
                normalize(normalize(text, first), second));
    }
  }
}

TEST(NormalizedApart, IsFalseForWhatCombinesWithTheTextInFront) {
  for (const char* text : {"\u0301", "\u0344", "\u1161", "\u11AB", "\u09BE", "\u3099"}) {
    EXPECT_FALSE(is_normalized_apart(text, NormalForm::kNfc)) << text;
  }
  for (const char* text : {"a", "\u00E9", "\uD55C", "\u1112", "\u4E2D", "\uFF9E"}) {
    EXPECT_TRUE(is_normalized_apart(text, NormalForm::kNfc)) << text;
  }
  EXPECT_FALSE(is_normalized_apart("\uFF9E", NormalForm::kNfkc));  // becomes U+3099
}

}  // namespace
}  // namespace slip
