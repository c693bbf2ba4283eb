#include "text/tokenizer.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace slip {
namespace {

using nlohmann::json;

std::string read_file(const std::string& path) {
  std::ifstream file(std::filesystem::path(SLIP_SOURCE_DIR) / path, std::ios::binary);
  EXPECT_TRUE(file.is_open()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

const json& golden() {
  static const json file = json::parse(read_file("tests/golden/tokenizer.json"));
  return file;
}

const json& tiny_coder_json() {
  static const json file = json::parse(read_file("models/tiny-coder/tokenizer.json"));
  return file;
}

const Tokenizer& tiny_coder() {
  static const Tokenizer tokenizer =
      Tokenizer::parse(read_file("models/tiny-coder/tokenizer.json"), "tokenizer.json");
  return tokenizer;
}

std::vector<int> numbers(const std::vector<TokenId>& ids) {
  std::vector<int> out;
  for (const TokenId id : ids) out.push_back(static_cast<int>(id));
  return out;
}

std::vector<TokenId> ids_of(const json& values) {
  std::vector<TokenId> out;
  for (const int value : values) out.push_back(TokenId{value});
  return out;
}

// The embedded file after one change.
std::string changed(const std::function<void(json&)>& change) {
  json file = tiny_coder_json();
  change(file);
  return file.dump();
}

void expect_refused(const std::string& text, ErrorCode code, const std::string& words) {
  try {
    Tokenizer::parse(text, "tokenizer.json");
    ADD_FAILURE() << "accepted, wanted: " << words;
  } catch (const Error& error) {
    EXPECT_EQ(name(error.code()), name(code));
    EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
  }
}

double seconds_to_encode(const std::string& text) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(tiny_coder().encode(text, AddedTokens::kMatch).empty());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

TEST(Tokenizer, GivesTheIdsOfTheReferenceLibrary) {
  for (const json& test : golden()["cases"]) {
    const auto text = test["text"].get<std::string>();
    EXPECT_EQ(numbers(tiny_coder().encode(text, AddedTokens::kMatch)),
              test["ids"].get<std::vector<int>>())
        << test["text"];
  }
}

TEST(Tokenizer, EncodesControlTokensAsPlainTextWhenTheyAreIgnored) {
  for (const json& test : golden()["cases"]) {
    const auto text = test["text"].get<std::string>();
    const json& wanted =
        test.contains("ids_ignoring_added") ? test["ids_ignoring_added"] : test["ids"];
    EXPECT_EQ(numbers(tiny_coder().encode(text, AddedTokens::kIgnore)),
              wanted.get<std::vector<int>>())
        << test["text"];
  }
}

TEST(Tokenizer, FollowsTheFlagsOfAddedTokens) {
  const json& flags = golden()["flags"];
  const Tokenizer tokenizer = Tokenizer::parse(changed([&](json& file) {
                                                 for (json& token : file["added_tokens"]) {
                                                   const auto found = flags.find(token["content"]);
                                                   if (found != flags.end()) token.update(*found);
                                                 }
                                               }),
                                               "changed");
  for (const json& test : golden()["flag_cases"]) {
    const auto text = test["text"].get<std::string>();
    EXPECT_EQ(numbers(tokenizer.encode(text, AddedTokens::kMatch)),
              test["ids"].get<std::vector<int>>())
        << test["text"];
  }
}

TEST(Tokenizer, DecodesAnyIdsAsTheReferenceLibraryDoes) {
  for (const json& test : golden()["decodings"]) {
    const auto ids = ids_of(test["ids"]);
    EXPECT_EQ(tiny_coder().decode(ids, false), test["text"]);
    EXPECT_EQ(tiny_coder().decode(ids, true), test["text_skipping_special"]);
  }
}

TEST(Tokenizer, KnowsItsTokens) {
  const auto end = tiny_coder().find("<|im_end|>");
  ASSERT_TRUE(end.has_value());
  EXPECT_TRUE(tiny_coder().is_special(*end));
  EXPECT_EQ(tiny_coder().bytes(*end), "<|im_end|>");
  const auto think = tiny_coder().find("<think>");
  ASSERT_TRUE(think.has_value());
  EXPECT_FALSE(tiny_coder().is_special(*think));
  EXPECT_EQ(tiny_coder().vocab_size(), 8185);
  EXPECT_EQ(tiny_coder().find("no such token"), std::nullopt);
}

TEST(Tokenizer, GivesNothingForIdsThatNoTokenHas) {
  for (const int id : {-1, 8185, 1 << 30}) {
    EXPECT_EQ(tiny_coder().bytes(TokenId{id}), "");
    EXPECT_FALSE(tiny_coder().is_special(TokenId{id}));
  }
}

TEST(Tokenizer, ReplacesEachMaximalBrokenPartOfTheTextByOneReplacementCharacter) {
  const auto ids = [](std::string_view text) {
    return numbers(tiny_coder().encode(text, AddedTokens::kMatch));
  };
  EXPECT_EQ(ids("a\xF0\x9F\x98 b\xC0\xAF\xED\xA0\x80"),
            ids("a\uFFFD b\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD"));
}

TEST(Tokenizer, ReadsMergesInBothSpellings) {
  const std::string joined = changed([](json& file) {
    for (json& merge : file["model"]["merges"]) {
      merge = merge[0].get<std::string>() + " " + merge[1].get<std::string>();
    }
  });
  const Tokenizer tokenizer = Tokenizer::parse(joined, "joined");
  const std::string text = golden()["cases"][6]["text"];
  EXPECT_EQ(numbers(tokenizer.encode(text, AddedTokens::kMatch)),
            golden()["cases"][6]["ids"].get<std::vector<int>>());
}

TEST(Tokenizer, TakesWholeWordsFirstWhenTheFileIgnoresMerges) {
  const std::string text = changed([](json& file) {
    file["model"]["ignore_merges"] = true;
    file["model"]["vocab"]["zqzqz"] = 9000;  // no merge builds it
  });
  const Tokenizer tokenizer = Tokenizer::parse(text, "changed");
  EXPECT_EQ(numbers(tokenizer.encode("zqzqz", AddedTokens::kMatch)), std::vector<int>{9000});
}

// A second or so where time is linear; hours where it is quadratic. Between them lies any machine
// and any sanitizer.
constexpr double kQuadraticSeconds = 100;

TEST(Tokenizer, EncodesAMegabyteOfOneLetterWithoutQuadraticTime) {
  EXPECT_LT(seconds_to_encode(std::string(1 << 20, 'a')), kQuadraticSeconds);
}

TEST(Tokenizer, EncodesAMegabyteOfSpacesWithoutQuadraticTime) {
  EXPECT_LT(seconds_to_encode(std::string(1 << 20, ' ') + "x"), kQuadraticSeconds);
}

TEST(Tokenizer, NormalizesAMegabyteOfUnorderedCombiningMarksWithoutQuadraticTime) {
  std::string marks = "a";
  while (marks.size() < 1 << 20) marks += "\u0301\u0327";
  EXPECT_LT(seconds_to_encode(marks), kQuadraticSeconds);
}

struct Refusal {
  const char* pointer;  // what is set
  json value;
  ErrorCode code;
  const char* words;
};

TEST(Tokenizer, RefusesByNameWhatItDoesNotImplement) {
  const auto unsupported = ErrorCode::kUnsupportedModel;
  const std::vector<Refusal> refusals = {
      {"/version", "2.0", unsupported, "version = \"2.0\""},
      {"/padding", {{"strategy", "x"}}, unsupported, "padding = "},
      {"/novelty", 1, unsupported, "novelty = 1"},
      {"/model/type", "Unigram", unsupported, "type = \"Unigram\""},
      {"/model/dropout", 0.1, unsupported, "dropout = 0.1"},
      {"/model/unk_token", "<unk>", unsupported, "unk_token = \"<unk>\""},
      {"/model/byte_fallback", true, unsupported, "byte_fallback = true"},
      {"/normalizer/type", "NFKC", unsupported, "normalizer: type = \"NFKC\""},
      {"/pre_tokenizer/type", "Whitespace", unsupported, "type = \"Whitespace\""},
      {"/pre_tokenizer/pretokenizers/0/type", "Digits", unsupported, "type = \"Digits\""},
      {"/pre_tokenizer/pretokenizers/0/behavior", "Removed", unsupported, "behavior = \"Removed\""},
      {"/pre_tokenizer/pretokenizers/0/invert", true, unsupported, "invert = true"},
      {"/pre_tokenizer/pretokenizers/0/pattern/Regex", "(", unsupported, "not understood"},
      {"/pre_tokenizer/pretokenizers/1/add_prefix_space", true, unsupported,
       "add_prefix_space = true"},
      {"/pre_tokenizer/pretokenizers/1/use_regex", true, unsupported, "use_regex = true"},
      {"/post_processor", {{"type", "TemplateProcessing"}}, unsupported, "\"TemplateProcessing\""},
      {"/decoder/type", "WordPiece", unsupported, "decoder: type = \"WordPiece\""},
      {"/added_tokens/0/single_word", true, unsupported, "added_tokens[0]: single_word = true"},
  };
  for (const Refusal& refusal : refusals) {
    expect_refused(
        changed([&](json& file) { file[json::json_pointer(refusal.pointer)] = refusal.value; }),
        refusal.code, refusal.words);
  }
}

TEST(Tokenizer, RefusesFilesThatContradictThemselves) {
  const auto corrupt = ErrorCode::kCorruptFile;
  const std::vector<Refusal> refusals = {
      {"/model/vocab/!", 1, corrupt, "two tokens with id 1"},
      {"/model/vocab/!", -1, corrupt, "id of \"!\" is -1"},
      {"/model/vocab/!", 1 << 20, corrupt, "id of \"!\" is 1048576"},
      {"/model/vocab/!", "x", corrupt, "id of \"!\" is \"x\""},
      {"/model/merges/0", {"no", "such token"}, corrupt, "which vocab lacks"},
      {"/model/merges/0", "a b c", corrupt, "wanted two tokens"},
      {"/model/merges", 3, corrupt, "merges = 3"},
      {"/added_tokens/0/content", "", corrupt, "a token without characters"},
      {"/added_tokens/0/content", "!", corrupt, "here and 0 elsewhere"},
      {"/added_tokens/0/content", std::string(1025, 'x'), corrupt, "1025 bytes"},
      {"/added_tokens/0/id", 5, corrupt, "two tokens with id 5"},
      {"/model", 1, corrupt, "model = 1"},
  };
  for (const Refusal& refusal : refusals) {
    expect_refused(
        changed([&](json& file) { file[json::json_pointer(refusal.pointer)] = refusal.value; }),
        refusal.code, refusal.words);
  }
}

TEST(Tokenizer, RefusesAVocabularyWithoutAllBytes) {
  expect_refused(changed([](json& file) {
                   file["model"]["vocab"].erase("\u0100");
                   file["model"]["merges"] = json::array();
                 }),
                 ErrorCode::kUnsupportedModel, "for byte 0");
}

TEST(Tokenizer, RefusesWhatIsNoJson) {
  for (const std::string text : {"", "{", "[]", "null", "\xFF", "{\"model\":"}) {
    EXPECT_THROW(Tokenizer::parse(text, "x"), Error) << text;
  }
}

TEST(Tokenizer, RefusesJsonNestedTooDeep) {
  expect_refused(std::string(100'000, '['), ErrorCode::kCorruptFile, "nested deeper");
}

TEST(Tokenizer, ReportsARegularExpressionThatBacktracksWithoutEnd) {
  const std::string text = changed([](json& file) {
    file["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = "(?:a|aa)+[cd]";
  });
  const Tokenizer tokenizer = Tokenizer::parse(text, "changed");
  EXPECT_THROW(tokenizer.encode(std::string(64, 'a'), AddedTokens::kMatch), Error);
}

}  // namespace
}  // namespace slip
