#include "base/json.h"

#include <gtest/gtest.h>

#include "base/testing/expect_error.h"

namespace slip {
namespace {

using test::fails_with;

std::string repeat(std::string_view text, int n) {
  std::string result;
  for (int i = 0; i < n; ++i) result += text;
  return result;
}

std::string nested(std::string_view open, std::string_view close, int depth) {
  return repeat(open, depth) + "1" + repeat(close, depth);
}

testing::AssertionResult is_refused(const std::string& text, std::string_view words) {
  return fails_with(ErrorCode::kCorruptFile, words, [&] { parse_json(text, "x.json"); });
}

TEST(ParseJson, GivesTheValue) {
  const auto value = parse_json(R"( {"a": [1, -2.5, "x", null], "b": {"a": true}} )", "x.json");
  EXPECT_EQ(value["a"][1], -2.5);
  EXPECT_EQ(value["a"][2], "x");
  EXPECT_EQ(value["b"]["a"], true);
}

TEST(ParseJson, ReadsNestingUpToTheLimit) {
  EXPECT_TRUE(parse_json(nested("[", "]", 64), "x.json").is_array());
  EXPECT_TRUE(parse_json(nested("{\"a\":", "}", 64), "x.json").is_object());
  EXPECT_TRUE(parse_json(nested("[{\"a\":", "}]", 32), "x.json").is_array());
}

TEST(ParseJson, RefusesNestingBeyondTheLimit) {
  EXPECT_TRUE(is_refused(nested("[", "]", 65), "x.json: nested deeper than 64"));
  EXPECT_TRUE(is_refused(nested("{\"a\":", "}", 65), "x.json: nested deeper than 64"));
  EXPECT_TRUE(is_refused("[" + nested("[{\"a\":", "}]", 32) + "]", "nested deeper than 64"));
}

TEST(ParseJson, RefusesAMillionBracketsAtTheFirstTooMany) {
  EXPECT_TRUE(is_refused(repeat("[", 1'000'000), "nested deeper than 64"));
}

TEST(ParseJson, SaysWhereTheTextStopsBeingJson) {
  EXPECT_TRUE(is_refused("{\"a\": nope}", "x.json: not JSON at byte 8"));
  EXPECT_TRUE(is_refused("[1] 2", "not JSON at byte 5"));
  EXPECT_TRUE(is_refused("", "not JSON at byte 1"));
}

TEST(ParseJson, RefusesTextThatIsNotUtf8) {
  EXPECT_TRUE(is_refused("[\"\xC3\x28\"]", "not JSON at byte"));
}

TEST(ParseJson, RefusesANumberBeyondDouble) {
  EXPECT_TRUE(is_refused("[1e999]", "a number that no double can hold"));
}

TEST(ParseJson, RefusesAKeyGivenTwice) {
  EXPECT_TRUE(is_refused(R"({"a": 1, "b": 2, "a": 1})", "key \"a\" is given twice"));
  EXPECT_TRUE(is_refused(R"([{"b": {"a": {}, "a": {}}}])", "key \"a\" is given twice"));
  EXPECT_TRUE(is_refused(R"({"a": 1, "\u0061": 1})", "key \"a\" is given twice"));
}

TEST(ParseJson, AllowsAKeyInSeveralObjects) {
  EXPECT_EQ(parse_json(R"({"a": {"a": 1}, "b": {"a": [{"a": 2}, {"a": 3}]}})", "x")["b"]["a"][1],
            (nlohmann::json{{"a", 3}}));
}

TEST(Quote, EscapesWhatWouldBreakALine) {
  EXPECT_EQ(quote("a\n\"b\" \x1B[2J"), R"("a\n\"b\" \u001b[2J")");
}

TEST(Quote, ReplacesWhatIsNotUtf8) { EXPECT_EQ(quote("a\xFF"), "\"a\\ufffd\""); }

TEST(Quote, CutsLongText) {
  EXPECT_EQ(quote(std::string(100'000, 'x')), "\"" + std::string(200, 'x') + "...\"");
}

TEST(ParseJson, BoundsTheNumberOfValues) {
  std::string text = "[0";
  for (size_t i = 0; i < kJsonValuesMax; ++i) text += ",0";
  EXPECT_TRUE(test::fails_with(ErrorCode::kCorruptFile, "more than 4000000 values",
                               [&] { parse_json(text + "]", "x"); }));
}

// Quadratic time would be minutes here, far beyond the limit of a test.
TEST(ParseJson, ReadsALongArrayOfObjectsInLinearTime) {
  std::string text = "[{}";
  for (int i = 0; i < 1'000'000; ++i) text += ",{}";
  EXPECT_EQ(parse_json(text + "]", "x").size(), 1'000'001u);
}

}  // namespace
}  // namespace slip
