#include "text/detokenizer.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace slip {
namespace {

std::string read_file(const std::string& path) {
  std::ifstream file(std::filesystem::path(SLIP_SOURCE_DIR) / path, std::ios::binary);
  EXPECT_TRUE(file.is_open()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

const Tokenizer& tiny_coder() {
  static const Tokenizer tokenizer =
      Tokenizer::parse(read_file("models/tiny-coder/tokenizer.json"), "tokenizer.json");
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

TEST(Detokenizer, GivesInPiecesWhatTheReferenceLibraryGivesAtOnce) {
  const auto golden = nlohmann::json::parse(read_file("tests/golden/tokenizer.json"));
  for (const auto& test : golden["decodings"]) {
    Detokenizer detokenizer(tiny_coder(), true);
    std::string text;
    for (const int id : test["ids"]) text += detokenizer.push(TokenId{id});
    text += detokenizer.finish();
    EXPECT_EQ(text, test["text_skipping_special"]);
  }
}

}  // namespace
}  // namespace slip
