#include "text/splitter.h"

#include <vector>

#include <gtest/gtest.h>

#include "base/testing/expect_error.h"

namespace slip {
namespace {

using Pieces = std::vector<std::string>;

Pieces split_by(const SplitRule& rule, std::string_view text, const SplitterLimits& limits = {}) {
  const Splitter splitter(rule, "test", limits);
  Splitter::Scratch scratch(limits);
  Splitter::Pieces pieces = splitter.cut(text, scratch);
  Pieces all;
  while (const auto piece = pieces.next()) all.emplace_back(*piece);
  return all;
}

Pieces split(const std::string& pattern, std::string_view text) {
  return split_by({.pattern = pattern}, text);
}

// The expectations are what the `tokenizers` library 0.23.3 gives.
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

TEST(Splitter, TakesALiteralPatternByTheLetter) {
  EXPECT_EQ(split_by({.pattern = ".+", .is_literal = true}, "a.+b.c"), (Pieces{"a", ".+", "b.c"}));
}

struct BehaviorCase {
  SplitBehavior behavior;
  Pieces plain, inverted;  // of "abbcb;b" at "b"
};

TEST(Splitter, FollowsTheBehavior) {
  const std::vector<BehaviorCase> cases = {
      {SplitBehavior::kIsolated,
       {"a", "b", "b", "c", "b", ";", "b"},
       {"a", "b", "b", "c", "b", ";", "b"}},
      {SplitBehavior::kRemoved, {"a", "c", ";"}, {"b", "b", "b", "b"}},
      {SplitBehavior::kMergedWithPrevious, {"ab", "b", "cb", ";b"}, {"a", "b", "bc", "b;", "b"}},
      {SplitBehavior::kMergedWithNext, {"a", "b", "bc", "b;", "b"}, {"ab", "b", "cb", ";b"}},
      {SplitBehavior::kContiguous,
       {"a", "bb", "c", "b", ";", "b"},
       {"a", "bb", "c", "b", ";", "b"}},
  };
  for (const BehaviorCase& test : cases) {
    SplitRule rule{.pattern = "b", .behavior = test.behavior};
    EXPECT_EQ(split_by(rule, "abbcb;b"), test.plain);
    rule.is_inverted = true;
    EXPECT_EQ(split_by(rule, "abbcb;b"), test.inverted);
  }
}

TEST(Splitter, StopsAtItsLimitOfSteps) {
  EXPECT_TRUE(test::fails_with(ErrorCode::kUnsupportedModel, "match limit exceeded", [] {
    split_by({.pattern = "(?:a|aa)+[cd]"}, "aaaaaaaaaaaaaaaaaaaaaaaa", {.match_steps_max = 1000});
  }));
}

TEST(Splitter, RefusesPatternsThatAreTooLong) {
  EXPECT_TRUE(test::fails_with(ErrorCode::kUnsupportedModel, "test: Regex is not understood",
                               [] { split(std::string((1 << 16) + 1, 'a'), "a"); }));
}

}  // namespace
}  // namespace slip
