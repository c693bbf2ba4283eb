#include "text/detokenizer.h"

#include <gtest/gtest.h>

#include "text/testing/source_file.h"

namespace slip {
namespace {

using test::read_source_file;

const Tokenizer& tiny_coder() {
  static const Tokenizer tokenizer =
      Tokenizer::parse(read_source_file("models/tiny-coder/tokenizer.json"), "tokenizer.json");
  return tokenizer;
}

// The token of one byte, found through the byte alphabet: these bytes have the symbol U+0100 + n.
TokenId id_of(const char* symbol) {
  const auto id = tiny_coder().find(symbol);
  EXPECT_TRUE(id.has_value()) << symbol;
  return id.value_or(TokenId{0});
}

TEST(Detokenizer, HoldsACharacterBackUntilItsLastByteIsThere) {
  Detokenizer detokenizer(tiny_coder(), false);
  EXPECT_EQ(detokenizer.push(id_of("\u00F0")), "");  // F0 9F 98 80
  EXPECT_EQ(detokenizer.push(id_of("\u0141")), "");
  EXPECT_EQ(detokenizer.push(id_of("\u013A")), "");
  EXPECT_EQ(detokenizer.push(id_of("\u0122")), "\U0001F600");
}

TEST(Detokenizer, ReplacesACharacterThatCanNeverComplete) {
  Detokenizer detokenizer(tiny_coder(), false);
  EXPECT_EQ(detokenizer.push(id_of("\u00F0")), "");
  EXPECT_EQ(detokenizer.push(id_of("a")),
            "\uFFFD"
            "a");
}

TEST(Detokenizer, EndsWithAReplacementForAnUnfinishedCharacterAndStartsAnew) {
  Detokenizer detokenizer(tiny_coder(), false);
  EXPECT_EQ(detokenizer.push(id_of("\u00F0")), "");
  EXPECT_EQ(detokenizer.finish(), "\uFFFD");
  EXPECT_EQ(detokenizer.push(id_of("b")), "b");
  EXPECT_EQ(detokenizer.finish(), "");
}

TEST(Detokenizer, LeavesSpecialTokensOutWhenAsked) {
  Detokenizer shows(tiny_coder(), false);
  Detokenizer skips(tiny_coder(), true);
  EXPECT_EQ(shows.push(id_of("<|im_end|>")), "<|im_end|>");
  EXPECT_EQ(skips.push(id_of("<|im_end|>")), "");
  EXPECT_EQ(skips.push(id_of("<think>")), "<think>");
}

}  // namespace
}  // namespace slip
