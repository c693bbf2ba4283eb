#include "text/stop_matcher.h"

#include <random>

#include <gtest/gtest.h>

#include "base/testing/expect_error.h"

namespace slip {
namespace {

struct Result {
  std::string text;
  std::optional<StopMatch> match;
};

Result run(const std::vector<std::string>& stop_strings, const std::vector<std::string>& pieces) {
  StopMatcher matcher(stop_strings);
  Result result;
  for (const std::string& piece : pieces) matcher.push(piece, result.text);
  matcher.finish(result.text);
  result.match = matcher.match();
  return result;
}

TEST(StopMatcher, EndsTheTextExactlyBeforeTheStopString) {
  const Result result = run({"END"}, {"one ENDtwo END"});
  EXPECT_EQ(result.text, "one ");
  ASSERT_TRUE(result.match.has_value());
  EXPECT_EQ(result.match->begin, 4U);
  EXPECT_EQ(result.match->end, 7U);
}

TEST(StopMatcher, FindsAStopStringThatIsSpreadOverPieces) {
  EXPECT_EQ(run({"END"}, {"one E", "N", "Dtwo"}).text, "one ");
}

TEST(StopMatcher, GivesOutAtOnceWhatCannotBecomeAStopString) {
  StopMatcher matcher({"abc"});
  std::string out;
  EXPECT_FALSE(matcher.push("xxab", out));
  EXPECT_EQ(out, "xx");
  EXPECT_FALSE(matcher.push("ab", out));
  EXPECT_EQ(out, "xxab");
  EXPECT_FALSE(matcher.push("d", out));
  EXPECT_EQ(out, "xxababd");
}

TEST(StopMatcher, SaysThatTheStreamHasEndedAndDropsWhatComesLater) {
  StopMatcher matcher({"."});
  std::string out;
  EXPECT_TRUE(matcher.push("a.b", out));
  EXPECT_TRUE(matcher.push("c.", out));
  matcher.finish(out);
  EXPECT_EQ(out, "a");
}

TEST(StopMatcher, GivesOutWhatItHeldWhenTheStreamEnds) {
  EXPECT_EQ(run({"END"}, {"one EN"}).text, "one EN");
}

TEST(StopMatcher, PassesEverythingWithoutStopStrings) {
  EXPECT_EQ(run({}, {"a", "", "b"}).text, "ab");
}

TEST(StopMatcher, ChoosesTheStopStringThatEndsFirst) {
  const Result result = run({"abcd", "c"}, {"xabcd"});
  EXPECT_EQ(result.text, "xab");
  ASSERT_TRUE(result.match.has_value());
  EXPECT_EQ(result.match->index, 1U);
}

TEST(StopMatcher, ChoosesTheLongestOfThoseThatEndTogether) {
  for (const auto& stops : {std::vector<std::string>{"bc", "abc"}, {"abc", "bc"}}) {
    EXPECT_EQ(run(stops, {"xab", "c"}).text, "x");
  }
}

TEST(StopMatcher, FindsAStopStringThatBeginsInsideAFailedOne) {
  EXPECT_EQ(run({"aab"}, {"aaaab"}).text, "aa");
  EXPECT_EQ(run({"ababc"}, {"abab", "abc"}).text, "ab");
}

TEST(StopMatcher, RefusesStopStringsThatAreEmptyTooLongOrTooMany) {
  const auto make = [](std::vector<std::string> stops) {
    return test::fails_with(ErrorCode::kInvalidArgument, "stop string",
                            [&] { StopMatcher matcher(std::move(stops)); });
  };
  EXPECT_TRUE(make({"a", ""}));
  EXPECT_TRUE(make({std::string(kStopStringBytesMax + 1, 'a')}));
  EXPECT_TRUE(make(std::vector<std::string>(kStopStringsMax + 1, "a")));
}

// The definition: of all places where a stop string ends the first, there the longest.
Result search(const std::vector<std::string>& stop_strings, std::string_view text) {
  for (size_t end = 1; end <= text.size(); ++end) {
    size_t begin = end;
    for (const std::string& stop : stop_strings) {
      if (text.substr(0, end).ends_with(stop)) begin = std::min(begin, end - stop.size());
    }
    if (begin < end) return {std::string(text.substr(0, begin)), StopMatch{0, begin, end}};
  }
  return {std::string(text), std::nullopt};
}

TEST(StopMatcher, FindsWhatAPlainSearchFindsHoweverTheTextIsCut) {
  std::mt19937 random(7);
  const auto word = [&](size_t n_bytes_max) {
    std::string text(1 + random() % n_bytes_max, 'a');
    for (char& byte : text) byte = static_cast<char>('a' + random() % 2);
    return text;
  };
  int n_stopped = 0;
  for (int round = 0; round < 5000; ++round) {
    const std::vector<std::string> stops = {word(8), word(8), word(8)};
    std::string text;
    std::vector<std::string> pieces;
    for (int i = 0; i < 6; ++i) text += pieces.emplace_back(word(4));
    const Result wanted = search(stops, text);
    const Result found = run(stops, pieces);
    EXPECT_EQ(found.text, wanted.text) << round;
    ASSERT_EQ(found.match.has_value(), wanted.match.has_value()) << round;
    n_stopped += wanted.match ? 1 : 0;
  }
  EXPECT_GT(n_stopped, 1000);
  EXPECT_LT(n_stopped, 5000);
}

}  // namespace
}  // namespace slip
