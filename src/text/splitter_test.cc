#include "text/splitter.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace slip {
namespace {

using Pieces = std::vector<std::string_view>;

Pieces split(const std::string& pattern, std::string_view text) {
  Pieces pieces;
  Splitter(pattern, "test").split(text, pieces);
  return pieces;
}

// The expectations are what the `tokenizers` library 0.23.3 gives with Split(Regex, "isolated").
TEST(Splitter, GivesMatchesAndWhatLiesBetweenThem) {
  EXPECT_EQ(split("[0-9]+", "ab12c3"), (Pieces{"ab", "12", "c", "3"}));
}

TEST(Splitter, CutsAtEmptyMatches) {
  EXPECT_EQ(split("(?=B)|c", "aBB\u00E9Bcc"), (Pieces{"a", "B", "B\u00E9", "B", "c", "c"}));
}

TEST(Splitter, CountsTheMongolianVowelSeparatorAsNoSpace) {
  EXPECT_EQ(split("\\s+", "a \u180E\u3000b"), (Pieces{"a", " ", "\u180E", "\u3000", "b"}));
}

TEST(Splitter, TakesLineAnchorsAtEveryLine) {
  EXPECT_EQ(split("^x|y$", "xx\nxy\ny"), (Pieces{"x", "x\n", "x", "y", "\n", "y"}));
}

TEST(Splitter, GivesNothingForNothing) { EXPECT_EQ(split("a", ""), Pieces{}); }

TEST(Splitter, RefusesPatternsThatCutCharacters) { EXPECT_THROW(split("\\C", "\u00E9"), Error); }

TEST(Splitter, StopsAtItsLimitOfSteps) {
  const Splitter splitter("(?:a|aa)+[cd]", "test", {.match_steps_max = 1000});
  Pieces pieces;
  EXPECT_THROW(splitter.split("aaaaaaaaaaaaaaaaaaaaaaaa", pieces), Error);
}

}  // namespace
}  // namespace slip
