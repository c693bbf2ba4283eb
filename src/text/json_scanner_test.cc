#include "text/json_scanner.h"

#include <random>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace slip {
namespace {

struct KindCase {
  const char* text;
  std::optional<JsonKind> kind;
};

const KindCase kKindCases[] = {
    {"null", JsonKind::kNull},
    {" true\n", JsonKind::kBoolean},
    {"false", JsonKind::kBoolean},
    {"0", JsonKind::kInteger},
    {"-0", JsonKind::kInteger},
    {"12345678901234567890", JsonKind::kInteger},
    {"5.00", JsonKind::kInteger},
    {"5.01", JsonKind::kNumber},
    {"-1.5e-3", JsonKind::kNumber},
    {"1e400", JsonKind::kNumber},
    {"1E+2", JsonKind::kNumber},
    {R"("a\"\\\/\b\f\n\r\t\u00e9")", JsonKind::kString},
    {"{}", JsonKind::kObject},
    {R"({"a": [1, {"b": null}], "c": ""})", JsonKind::kObject},
    {"[ ]", JsonKind::kArray},
    {"[[],[ [] ]]", JsonKind::kArray},
    {"", std::nullopt},
    {" ", std::nullopt},
    {"nul", std::nullopt},
    {"nulll", std::nullopt},
    {"True", std::nullopt},
    {"NaN", std::nullopt},
    {"-", std::nullopt},
    {"01", std::nullopt},
    {"+1", std::nullopt},
    {".5", std::nullopt},
    {"5.", std::nullopt},
    {"1e", std::nullopt},
    {"1e+", std::nullopt},
    {"0x10", std::nullopt},
    {"1 2", std::nullopt},
    {"\"a", std::nullopt},
    {"'a'", std::nullopt},
    {R"("\x")", std::nullopt},
    {R"("\u12g4")", std::nullopt},
    {"\"line\nfeed\"", std::nullopt},
    {"[1,]", std::nullopt},
    {"[,1]", std::nullopt},
    {"[1 2]", std::nullopt},
    {"[1}", std::nullopt},
    {"]", std::nullopt},
    {R"({"a"})", std::nullopt},
    {R"({"a":})", std::nullopt},
    {R"({"a":1,})", std::nullopt},
    {R"({a:1})", std::nullopt},
    {R"({"a" 1})", std::nullopt},
    {"{} {}", std::nullopt},
    {"// no\n1", std::nullopt},
};

TEST(JsonScanner, TellsWhatATextIs) {
  for (const auto& [text, kind] : kKindCases) EXPECT_EQ(json_kind(text), kind) << text;
}

TEST(JsonScanner, AgreesWithTheLibraryOnTextsMadeOfJsonParts) {
  const std::vector<std::string> parts = {"{",  "}",  "[",   "]", ",",  ":",    "\"a\"", "\"",
                                          "0",  "12", "-",   ".", "e",  "true", "null",  " ",
                                          "\n", "\\", "\\n", "+", "{}", "[1]",  "\"b\":"};
  std::mt19937 random(11);
  int n_good = 0;
  for (int round = 0; round < 300'000; ++round) {
    std::string text;
    const size_t n_parts = 1 + random() % 7;
    for (size_t i = 0; i < n_parts; ++i) text += parts[random() % parts.size()];
    const bool is_good = nlohmann::json::accept(text);
    ASSERT_EQ(json_kind(text).has_value(), is_good) << text;
    n_good += is_good ? 1 : 0;
  }
  EXPECT_GT(n_good, 3000);
}

TEST(JsonScanner, KnowsTheByteWithWhichAValueIsComplete) {
  JsonScanner scanner;
  const std::string_view text = R"({"a": "}]", "b": [1, "\"}"]})";
  for (const char byte : text) {
    EXPECT_FALSE(scanner.is_complete());
    ASSERT_TRUE(scanner.push(byte));
  }
  EXPECT_TRUE(scanner.is_complete());
}

TEST(JsonScanner, BoundsNesting) {
  const auto nested = [](size_t depth) {
    return std::string(depth, '[') + "{}" + std::string(depth, ']');
  };
  EXPECT_TRUE(json_kind(nested(kJsonTextDepthMax - 1)).has_value());
  EXPECT_FALSE(json_kind(nested(kJsonTextDepthMax)).has_value());
}

TEST(JsonMembers, AreTheTextsBetweenCommasOfTheOutermostObject) {
  const std::string_view object = "{ \"a\" : 1e400 ,\"b,\\\":\": [1, {\"c\": 2}],\n\"d\":\"}\" }";
  const auto members = json_members(object);
  ASSERT_EQ(members.size(), 3U);
  EXPECT_EQ(members[0].key, "\"a\"");
  EXPECT_EQ(members[0].value, "1e400");
  EXPECT_EQ(members[1].key, "\"b,\\\":\"");
  EXPECT_EQ(members[1].value, "[1, {\"c\": 2}]");
  EXPECT_EQ(members[2].value, "\"}\"");
  EXPECT_TRUE(json_members("{ }").empty());
}

TEST(JsonString, GivesBackTheTextThatWasMadeAString) {
  const std::string text = "quote \" back \\ slash / \n\t\x01 \u00E9 \U0001F600";
  const std::string json = json_string(text);
  EXPECT_EQ(json_string_value(json), text);
  EXPECT_EQ(json_string("\u00E9"), "\"\u00E9\"");
}

TEST(JsonString, IsUtf8WhateverTheBytes) { EXPECT_EQ(json_string("a\xFF"), "\"a\uFFFD\""); }

TEST(JsonStringValue, IsEmptyForWhatIsNoStringOfUnicode) {
  for (const char* text : {"", "a", "1", "\"a", R"("\ud800")", "\"\xFF\""}) {
    EXPECT_FALSE(json_string_value(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace slip
