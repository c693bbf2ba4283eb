// Four tokenizer.json files against the `tokenizers` library on a nasty corpus. The long inputs are
// made here by the rules of tools/make_tokenizer_golden.py, which made the expectations.
#include <array>
#include <cstdio>
#include <map>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "text/detokenizer.h"
#include "text/testing/source_file.h"
#include "text/tokenizer.h"
#include "text/unicode.h"

namespace slip {
namespace {

using nlohmann::json;
using test::read_source_file;

const json& golden() {
  static const json file = json::parse(read_source_file("tests/golden/tokenizer.json"));
  return file;
}

std::vector<int> numbers(const std::vector<TokenId>& ids) {
  std::vector<int> out;
  for (const TokenId id : ids) out.push_back(static_cast<int>(id));
  return out;
}

// Multiplies and adds, so that the random inputs need not be stored.
class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(seed) {}
  size_t operator()(size_t n) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return (state_ >> 33) % n;
  }

 private:
  uint64_t state_;
};

// The count and the hash of the ids of one or more texts.
class Summary {
 public:
  void add(const std::vector<TokenId>& ids) {
    for (const TokenId id : ids) hash_ = (hash_ ^ index(id)) * 1099511628211u;
    count_ += ids.size();
  }
  std::string text() const {
    std::array<char, 17> hash{};
    snprintf(hash.data(), hash.size(), "%016llx", static_cast<unsigned long long>(hash_));
    return std::to_string(count_) + " " + hash.data();
  }

 private:
  uint64_t hash_ = 14695981039346656037u;
  size_t count_ = 0;
};

std::string wanted(const json& summary) {
  return std::to_string(summary["count"].get<size_t>()) + " " + summary["hash"].get<std::string>();
}

std::string path_of(const std::string& name) {
  return name == "tiny-coder" ? "models/tiny-coder/tokenizer.json"
                              : "tests/golden/tokenizer_" + name + ".json";
}

class TokenizerFile : public testing::TestWithParam<std::string> {
 protected:
  TokenizerFile()
      : tokenizer_(Tokenizer::parse(read_source_file(path_of(GetParam())), GetParam())) {
    for (const json& part : golden()["tokenizers"]) {
      if (part["name"] == GetParam()) golden_ = &part;
    }
  }
  std::string summary(std::string_view text) const {
    Summary ids;
    ids.add(tokenizer_.encode(text, AddedTokens::kMatch));
    return ids.text();
  }
  const json& wants(const char* key) const { return (*golden_)[key]; }

  Tokenizer tokenizer_;
  const json* golden_ = nullptr;
};

TEST_P(TokenizerFile, GivesTheIdsOfTheLibrary) {
  const json& texts = golden()["texts"];
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(json(numbers(tokenizer_.encode(texts[i].get<std::string>(), AddedTokens::kMatch))),
              wants("ids")[i])
        << texts[i];
  }
}

TEST_P(TokenizerFile, GivesTheIdsOfTheLibraryWithoutAddedTokensWhenTheyAreIgnored) {
  const json& texts = golden()["texts"];
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(json(numbers(tokenizer_.encode(texts[i].get<std::string>(), AddedTokens::kIgnore))),
              wants("ids_ignoring_added")[i])
        << texts[i];
  }
}

TEST_P(TokenizerFile, PutsAroundAPlainPromptWhatTheLibraryPuts) {
  const auto text = golden()["texts"][4].get<std::string>();
  EXPECT_EQ(json(numbers(tokenizer_.encode(text, AddedTokens::kMatch, Frame::kFromFile))),
            wants("framed"));
}

TEST_P(TokenizerFile, EncodesRandomTexts) {
  const json& alphabet = golden()["alphabet"];
  Dice dice(golden()["seed"].get<uint64_t>());
  Summary matched, ignored;
  for (int i = 0; i < 4000; ++i) {
    std::string text;
    for (size_t n = 1 + dice(40); n > 0; --n) {
      text += alphabet[dice(alphabet.size())].get<std::string>();
    }
    matched.add(tokenizer_.encode(text, AddedTokens::kMatch));
    ignored.add(tokenizer_.encode(text, AddedTokens::kIgnore));
  }
  EXPECT_EQ(matched.text(), wanted(wants("random")));
  EXPECT_EQ(ignored.text(), wanted(wants("random_ignoring_added")));
}

TEST_P(TokenizerFile, EncodesRandomBytes) {
  const json& alphabet = golden()["alphabet"];
  Dice dice(golden()["seed"].get<uint64_t>());
  for (int i = 0; i < 4000; ++i) {  // the texts are drawn first
    for (size_t n = 1 + dice(40); n > 0; --n) dice(alphabet.size());
  }
  std::string bytes;
  for (int i = 0; i < 1 << 16; ++i) bytes.push_back(static_cast<char>(dice(256)));
  EXPECT_EQ(summary(bytes), wanted(wants("bytes")));
}

TEST_P(TokenizerFile, FindsEveryAddedTokenInAnyNeighbourhood) {
  const json& neighbours = golden()["neighbours"];
  for (const json& token : wants("added")) {
    Summary ids;
    for (const json& left : neighbours) {
      for (const json& right : neighbours) {
        const std::string text = left.get<std::string>() + token["content"].get<std::string>() +
                                 right.get<std::string>();
        ids.add(tokenizer_.encode(text, AddedTokens::kMatch));
      }
    }
    EXPECT_EQ(ids.text(), wanted(token)) << token["content"];
  }
}

TEST_P(TokenizerFile, EncodesAMegabyteOfOneCharacter) {
  for (const json& test : wants("long")) {
    const auto unit = test["unit"].get<std::string>();
    std::string text;
    for (size_t n = (1 << 20) / unit.size(); n > 0; --n) text += unit;
    EXPECT_EQ(summary(text), wanted(test)) << test["unit"];
  }
}

TEST_P(TokenizerFile, EncodesEveryCharacterOfUnicode14BesideEveryKind) {
  std::map<size_t, std::string> blocks;
  for (const json& range : golden()["code_point_ranges"]) {
    for (char32_t value = range[0]; value <= range[1].get<char32_t>(); ++value) {
      std::string c;
      append_utf8(c, value);
      blocks[value >> 12] +=
          c + "a" + c + "1" + c + " " + c + "\n " + c + c + "\r\n'" + c + "<word>" + c + ".<word> ";
    }
  }
  for (const json& block : wants("code_points")) {
    EXPECT_EQ(summary(blocks[block["block"].get<size_t>()]), wanted(block)) << block["block"];
  }
}

TEST_P(TokenizerFile, FindsAddedTokensInTheTemplatesOwnTextOnly) {
  const json& cases = golden()["span_texts"];
  for (size_t i = 0; i < cases.size(); ++i) {
    std::string text;
    std::vector<ByteRange> untrusted;
    for (size_t j = 0; j < cases[i].size(); ++j) {
      const size_t begin = text.size();
      text += cases[i][j].get<std::string>();
      if (j % 2 == 1) untrusted.push_back({begin, text.size()});
    }
    EXPECT_EQ(json(numbers(tokenizer_.encode(text, untrusted))), wants("spans")[i]) << cases[i];
  }
}

TEST_P(TokenizerFile, DecodesAtOnceAndByStreamAsTheLibraryDoes) {
  for (const json& test : wants("decodings")) {
    std::vector<TokenId> ids;
    for (const int id : test["ids"]) ids.push_back(TokenId{id});
    for (const bool skip_special : {false, true}) {
      const json& text = test[skip_special ? "text_skipping_special" : "text"];
      EXPECT_EQ(tokenizer_.decode(ids, skip_special), text);
      Detokenizer detokenizer(tokenizer_, skip_special);
      std::string streamed;
      for (const TokenId id : ids) streamed += detokenizer.push(id);
      EXPECT_EQ(streamed + detokenizer.finish(), text);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, TokenizerFile,
                         testing::Values("tiny-coder", "qwen2", "llama3", "gpt2"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace slip
