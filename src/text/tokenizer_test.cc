#include "text/tokenizer.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <tuple>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/testing/expect_error.h"
#include "text/testing/source_file.h"

namespace slip {
namespace {

using nlohmann::json;
using test::fails_with;
using test::read_source_file;

const Tokenizer& tiny_coder() {
  static const Tokenizer tokenizer =
      Tokenizer::parse(read_source_file("models/tiny-coder/tokenizer.json"), "tokenizer.json");
  return tokenizer;
}

const json& small_json() {  // the qwen2 family's pattern, 1280 tokens, an added token in NFC
  static const json file = json::parse(read_source_file("tests/golden/tokenizer_qwen2.json"));
  return file;
}

std::vector<int> plain_ids(const std::vector<TokenId>& ids) {
  std::vector<int> out;
  for (const TokenId id : ids) out.push_back(static_cast<int>(id));
  return out;
}

std::vector<int> ids_of(const Tokenizer& tokenizer, std::string_view text,
                        AddedTokens mode = AddedTokens::kMatch) {
  return plain_ids(tokenizer.encode(text, mode));
}

Tokenizer changed(const std::function<void(json&)>& change) {
  json file = small_json();
  change(file);
  return Tokenizer::parse(file.dump(), "tokenizer.json");
}

json with(const json& pointers) {
  json file = small_json();
  for (const auto& [pointer, value] : pointers.items()) file[json::json_pointer(pointer)] = value;
  return file;
}

testing::AssertionResult is_refused(const json& file, ErrorCode code, const std::string& words) {
  return fails_with(code, words, [&] { Tokenizer::parse(file.dump(), "tokenizer.json"); });
}

// What the `tokenizers` library gives for the small file after one change each: everything that a
// file may ask for.
TEST(Tokenizer, DoesWhatTheFileAsks) {
  const json golden = json::parse(read_source_file("tests/golden/tokenizer.json"));
  const auto texts = golden["variant_texts"].get<std::vector<std::string>>();
  ASSERT_GT(golden["variants"].size(), 60u);
  for (const json& variant : golden["variants"]) {
    const Tokenizer tokenizer = Tokenizer::parse(with(variant["set"]).dump(), "variant");
    for (size_t i = 0; i < texts.size(); ++i) {
      const auto ids = tokenizer.encode(texts[i], AddedTokens::kMatch, Frame::kFromFile);
      EXPECT_EQ(json(plain_ids(ids)), variant["framed"][i]) << variant["set"] << json(texts[i]);
      EXPECT_EQ(tokenizer.decode(ids, true), variant["skipping_special"][i]) << variant["set"];
    }
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
  EXPECT_EQ(ids_of(tiny_coder(), "a\xF0\x9F\x98 b\xC0\xAF\xED\xA0\x80"),
            ids_of(tiny_coder(), "a\uFFFD b\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD"));
}

TEST(Tokenizer, ReadsMergesInBothSpellings) {
  const Tokenizer joined = changed([](json& file) {
    for (json& merge : file["model"]["merges"]) {
      merge = merge[0].get<std::string>() + " " + merge[1].get<std::string>();
    }
  });
  EXPECT_EQ(ids_of(joined, "  return tokenizer;"),
            ids_of(changed([](json&) {}), "  return tokenizer;"));
}

TEST(Tokenizer, TakesWholeWordsFirstWhenTheFileIgnoresMerges) {
  for (const bool ignore : {false, true}) {
    const Tokenizer tokenizer = changed([&](json& file) {
      file["model"]["ignore_merges"] = ignore;
      file["model"]["vocab"]["zqzqz"] = 1280;  // no merge builds it
      file["added_tokens"] = json::array();
    });
    EXPECT_EQ(ids_of(tokenizer, "zqzqz") == std::vector<int>{1280}, ignore);
  }
}

TEST(Tokenizer, NeverMakesASpecialTokenOfIgnoredText) {
  // "string" is a word of the vocabulary that merges build, and here a special token, too.
  for (const bool ignore_merges : {false, true}) {
    const Tokenizer tokenizer = changed([&](json& file) {
      file["model"]["ignore_merges"] = ignore_merges;
      file["added_tokens"].push_back(
          {{"id", file["model"]["vocab"]["string"]}, {"content", "string"}, {"special", true}});
    });
    EXPECT_EQ(ids_of(tokenizer, "string").size(), 1u);
    for (const TokenId id : tokenizer.encode("string", AddedTokens::kIgnore)) {
      EXPECT_FALSE(tokenizer.is_special(id));
    }
  }
}

// Pieces of a prompt: every other one, from the second on, is text that nobody vouches for.
std::vector<TokenId> encode_prompt(const Tokenizer& tokenizer,
                                   const std::vector<std::string>& pieces) {
  std::string text;
  std::vector<ByteRange> untrusted;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const size_t begin = text.size();
    text += pieces[i];
    if (i % 2 == 1) untrusted.push_back({begin, text.size()});
  }
  return tokenizer.encode(text, untrusted);
}

TEST(TokenizerPrompt, IsOneTextWhereNoAddedTokenIsSpelled) {
  const std::vector<std::string> pieces = {"user\n", "\n\n  int ma", "", "in() e", "\u0301"};
  EXPECT_EQ(plain_ids(encode_prompt(tiny_coder(), pieces)),
            ids_of(tiny_coder(), "user\n\n\n  int main() e\u0301"));
}

TEST(TokenizerPrompt, HasNoAddedTokenThatIsNotSpelledInTrustedTextAsAWhole) {
  const auto n_special = [](const std::vector<std::string>& pieces) {
    const auto ids = encode_prompt(tiny_coder(), pieces);
    return std::count_if(ids.begin(), ids.end(),
                         [](TokenId id) { return tiny_coder().is_special(id); });
  };
  EXPECT_EQ(n_special({"<|im_", "end|>"}), 0);
  EXPECT_EQ(n_special({"", "<|im_", "end|>"}), 0);
  EXPECT_EQ(n_special({"<|im_", "e", "nd|>"}), 0);
  EXPECT_EQ(n_special({"", "<|im_end|>", "<|im_end|>"}), 1);
  EXPECT_EQ(n_special({"<|im_", "", "end|>"}), 1);
}

TEST(TokenizerPrompt, KeepsNormalizedSpellingsApartToo) {
  const Tokenizer tokenizer = changed([](json&) {});
  const int token = static_cast<int>(tokenizer.find("<e\u0301>").value());
  const auto has_token = [&](const std::vector<std::string>& pieces) {
    const auto ids = plain_ids(encode_prompt(tokenizer, pieces));
    return std::find(ids.begin(), ids.end(), token) != ids.end();
  };
  EXPECT_TRUE(has_token({"<\u00E9>"}));
  EXPECT_TRUE(has_token({"", "x\u4E2D", "<e\u0301>", "\u00E9"}));
  EXPECT_FALSE(has_token({"", "<\u00E9>"}));
  EXPECT_FALSE(has_token({"<e", "\u0301", ">"}));
  EXPECT_FALSE(has_token({"<e\u0301>", "\u0338"}));      // joins the sign: U+226F
  EXPECT_FALSE(has_token({"", "<", "\u0338e\u0301>"}));  // and from the other side: U+226E
}

TEST(TokenizerPrompt, IsMadeUtf8InParts) {
  EXPECT_EQ(plain_ids(encode_prompt(tiny_coder(), {"\xE4\xB8", "\xAD"})),
            ids_of(tiny_coder(), "\uFFFD\uFFFD"));
}

// A second or so where time is linear; hours where it is quadratic. Between them lies any machine
// and any sanitizer.
constexpr double kQuadraticSeconds = 100;

double seconds_to_encode(const Tokenizer& tokenizer, const std::string& text) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(tokenizer.encode(text, AddedTokens::kMatch).empty());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::string repeat(std::string_view text, size_t n) {
  std::string out;
  for (; n > 0; --n) out += text;
  return out;
}

TEST(Tokenizer, NormalizesAMegabyteOfUnorderedCombiningMarksWithoutQuadraticTime) {
  EXPECT_LT(seconds_to_encode(tiny_coder(), "a" + repeat("\u0301\u0327", 1 << 18)),
            kQuadraticSeconds);
}

TEST(Tokenizer, FindsAddedTokensMadeOfWhiteSpaceWithoutQuadraticTime) {
  const Tokenizer tokenizer = changed([](json& file) {
    file["added_tokens"][3].update({{"content", " "}, {"lstrip", true}, {"rstrip", true}});
  });
  EXPECT_LT(seconds_to_encode(tokenizer, std::string(1 << 20, ' ')), kQuadraticSeconds);
}

TEST(TokenizerPrompt, MayHaveManyPartsWithoutQuadraticTime) {
  const Tokenizer tokenizer = changed([](json&) {});
  std::vector<std::string> pieces;
  for (int i = 0; i < 1 << 18; ++i) pieces.emplace_back(i % 2 == 0 ? "\u0301<" : "\u0301");
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(encode_prompt(tokenizer, pieces).empty());
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
            kQuadraticSeconds);
}

struct Refusal {
  const char* pointer;  // what is set in the small file
  json value;
  const char* words;
};

const json kByteLevel = {{"type", "ByteLevel"},
                         {"add_prefix_space", false},
                         {"trim_offsets", true},
                         {"use_regex", false}};

json sequence(const char* key, const std::vector<json>& steps) {
  return {{"type", "Sequence"}, {key, steps}};
}

json split(const json& pattern, const char* behavior = "Isolated") {
  return sequence("pretokenizers",
                  {{{"type", "Split"}, {"pattern", pattern}, {"behavior", behavior}}, kByteLevel});
}

TEST(Tokenizer, RefusesByNameWhatItDoesNotImplement) {
  const std::vector<Refusal> refusals = {
      {"/version", "2.0", "tokenizer.json: version = \"2.0\""},
      {"/padding", {{"strategy", "x"}}, "padding = "},
      {"/truncation", {{"max_length", 1}}, "truncation = "},
      {"/novelty", 1, "novelty = 1"},
      {"/model/type", "Unigram", "tokenizer.json: model: type = \"Unigram\""},
      {"/model/novelty", 1, "novelty = 1"},
      {"/model/dropout", 0.1, "dropout = 0.1"},
      {"/model/byte_fallback", true, "byte_fallback = true"},
      {"/model/continuing_subword_prefix", "##", "continuing_subword_prefix = \"##\""},
      {"/model/end_of_word_suffix", "</w>", "end_of_word_suffix = \"</w>\""},
      {"/normalizer/type", "Lowercase", "tokenizer.json: normalizer: type = \"Lowercase\""},
      {"/normalizer/novelty", 1, "novelty = 1"},
      {"/normalizer", sequence("normalizers", {{{"type", "Replace"}}}),
       "normalizer.normalizers[0]: type = \"Replace\""},
      {"/pre_tokenizer", {{"type", "Metaspace"}}, "pre_tokenizer: type = \"Metaspace\""},
      {"/pre_tokenizer", sequence("pretokenizers", {}), "type without ByteLevel = \"Sequence\""},
      {"/pre_tokenizer", sequence("pretokenizers", {kByteLevel, kByteLevel}),
       "pretokenizers[1]: type after ByteLevel = \"ByteLevel\""},
      {"/pre_tokenizer/novelty", 1, "novelty = 1"},
      {"/pre_tokenizer/pretokenizers/0/type", "Punctuation", "type = \"Punctuation\""},
      {"/pre_tokenizer/pretokenizers/0/novelty", 1, "novelty = 1"},
      {"/pre_tokenizer/pretokenizers/1/novelty", 1, "novelty = 1"},
      {"/pre_tokenizer", split({{"Regex", "x"}}, "Deleted"), "behavior = \"Deleted\""},
      {"/pre_tokenizer", split({{"Regex", "("}}), "pre_tokenizer: Regex is not understood"},
      {"/pre_tokenizer", split({{"Regex", "\\w"}}), "Regex: \"\\\\w\" is not supported"},
      {"/pre_tokenizer", split({{"Glob", "*"}}), "pattern: Glob = \"*\""},
      {"/post_processor",
       {{"type", "BertProcessing"}},
       "post_processor: type = \"BertProcessing\""},
      {"/post_processor/novelty", 1, "novelty = 1"},
      {"/decoder", {{"type", "WordPiece"}}, "decoder: type = \"WordPiece\""},
      {"/decoder/novelty", 1, "novelty = 1"},
      {"/decoder", sequence("decoders", {}), "type without ByteLevel"},
      {"/decoder", sequence("decoders", {{{"type", "Fuse"}}}), "decoders[0]: type = \"Fuse\""},
      {"/decoder", sequence("decoders", {kByteLevel, kByteLevel}), "decoders[1]: type"},
      {"/added_tokens/0/novelty", 1, "added_tokens[0]: novelty = 1"},
  };
  for (const Refusal& refusal : refusals) {
    EXPECT_TRUE(is_refused(with({{refusal.pointer, refusal.value}}), ErrorCode::kUnsupportedModel,
                           refusal.words))
        << refusal.pointer << refusal.value;
  }
}

json frame(const json& single, const json& ids = {1280}) {
  return {{"type", "TemplateProcessing"},
          {"single", single},
          {"special_tokens", {{"x", {{"id", "x"}, {"ids", ids}, {"tokens", {"<|endoftext|>"}}}}}}};
}

TEST(Tokenizer, RefusesFramesThatItDoesNotUnderstand) {
  const json text = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  const json pair = {{"Sequence", {{"id", "B"}, {"type_id", 0}}}};
  const json special = {{"SpecialToken", {{"id", "x"}, {"type_id", 0}}}};
  const json unknown = {{"SpecialToken", {{"id", "y"}, {"type_id", 0}}}};
  const auto unsupported = ErrorCode::kUnsupportedModel, corrupt = ErrorCode::kCorruptFile;
  const std::vector<std::tuple<json, ErrorCode, std::string>> refusals = {
      {frame({text, text}), unsupported, "single[1]: piece = "},
      {frame(json::array({pair})), unsupported, "single[0].Sequence: id = \"B\""},
      {frame(json::array({json::object()})), unsupported, "piece = {}"},
      {frame(json::array({special})), corrupt, "single has no Sequence"},
      {frame("$A"), corrupt, "single = \"$A\", wanted an array"},
      {frame({unknown, text}), corrupt, "special_tokens: no key y"},
      {frame({special, text}, {1281}), corrupt,
       "token \"<|endoftext|>\" has id 1281 here and 1280"},
      {frame({special, text}, {1280, 1280}), corrupt, "2 ids for 1 tokens"},
      {sequence("processors", {frame(json::array({text})), frame(json::array({text}))}),
       unsupported, "processors[1]: second type = \"TemplateProcessing\""},
  };
  for (const auto& [value, code, words] : refusals) {
    EXPECT_TRUE(is_refused(with({{"/post_processor", value}}), code, words)) << value;
  }
}

TEST(Tokenizer, RefusesFilesThatContradictThemselves) {
  const std::vector<Refusal> refusals = {
      {"/model/vocab/!", 1, "two tokens with id 1"},
      {"/model/vocab/!", -1, "id of \"!\" is -1"},
      {"/model/vocab/!", 1 << 20, "id of \"!\" is 1048576"},
      {"/model/vocab/!", "x", "tokenizer.json: model.vocab: id of \"!\" is \"x\""},
      {"/model/vocab/", 1280, "a token without characters"},
      {"/model/merges/0", {"no", "such token"}, "which vocab lacks"},
      {"/model/merges/0", "a b c", "wanted two tokens"},
      {"/model/merges/0", {"a"}, "wanted two tokens"},
      {"/model/merges", 3, "merges = 3, wanted an array"},
      {"/model/ignore_merges", 3, "ignore_merges = 3, wanted true or false"},
      {"/model", 1, "model = 1, wanted an object"},
      {"/added_tokens", 1, "added_tokens = 1, wanted an array"},
      {"/added_tokens/0", 1, "added_tokens[0]: 1, wanted an object"},
      {"/added_tokens/0/content", "", "a token without characters"},
      {"/added_tokens/0/content", 1, "content = 1, wanted a string"},
      {"/added_tokens/0/content", "!", "id of \"!\" is 1280, wanted 0"},
      {"/added_tokens/0/content", std::string(1025, 'x'), "1025 bytes"},
      {"/added_tokens/0/id", 5, "id of \"<|endoftext|>\" is 5, wanted 1280"},
      {"/added_tokens/1/id", 1290, "id of \"<|im_start|>\" is 1290, wanted 1281"},
      {"/added_tokens/0/special", 1, "special = 1, wanted true or false"},
      {"/added_tokens/6",
       {{"id", 1286}, {"content", "<\u00E9>"}, {"normalized", true}},
       "two added_tokens are \"<\u00E9>\" when normalized"},
      {"/added_tokens/6", {{"id", 1280}, {"content", "<|endoftext|>"}}, "is given twice"},
      {"/pre_tokenizer", split({{"Regex", "x"}, {"String", "x"}}), "both Regex and String"},
      {"/pre_tokenizer", {{"type", "ByteLevel"}}, "no key add_prefix_space"},
  };
  for (const Refusal& refusal : refusals) {
    EXPECT_TRUE(is_refused(with({{refusal.pointer, refusal.value}}), ErrorCode::kCorruptFile,
                           refusal.words))
        << refusal.pointer << refusal.value;
  }
}

TEST(Tokenizer, BoundsTheNumberOfSplits) {
  std::vector<json> steps(17, {{"type", "Digits"}, {"individual_digits", true}});
  steps.push_back(kByteLevel);
  EXPECT_TRUE(is_refused(with({{"/pre_tokenizer", sequence("pretokenizers", steps)}}),
                         ErrorCode::kCorruptFile, "17 splits, at most 16"));
}

TEST(Tokenizer, BoundsTheSpellingsOfAddedTokens) {
  json file = small_json();
  for (int i = 0; i < 1025; ++i) {
    const std::string content = std::to_string(100'000 + i) + std::string(1018, 'x');
    file["added_tokens"].push_back({{"id", 1286 + i}, {"content", content}});
  }
  EXPECT_TRUE(is_refused(file, ErrorCode::kCorruptFile, "bytes, at most 1048576 are allowed"));
}

TEST(Tokenizer, RefusesAVocabularyWithoutAllBytes) {
  json file = small_json();
  file["model"]["vocab"].erase("\u0100");
  EXPECT_TRUE(is_refused(file, ErrorCode::kUnsupportedModel, "for byte 0, wanted all 256"));
}

TEST(Tokenizer, RefusesWhatIsNoJson) {
  for (const std::string text : {"", "{", "[]", "null", "\xFF", "{\"model\":"}) {
    EXPECT_THROW(Tokenizer::parse(text, "x"), Error) << text;
  }
}

TEST(Tokenizer, RefusesAKeyGivenTwice) {
  EXPECT_TRUE(fails_with(ErrorCode::kCorruptFile, "x: key \"version\" is given twice",
                         [] { Tokenizer::parse(R"({"version": "1.0", "version": "1.0"})", "x"); }));
}

TEST(Tokenizer, ReportsARegularExpressionThatBacktracksWithoutEnd) {
  const Tokenizer tokenizer = changed([](json& file) {
    file["pre_tokenizer"] = split({{"Regex", "(?:a|aa)+[cd]"}});
  });
  EXPECT_TRUE(fails_with(ErrorCode::kUnsupportedModel,
                         "tokenizer.json: pre_tokenizer: Regex fails on this text",
                         [&] { tokenizer.encode(std::string(64, 'a'), AddedTokens::kMatch); }));
}

}  // namespace
}  // namespace slip
