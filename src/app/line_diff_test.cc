#include "app/line_diff.h"

#include <gtest/gtest.h>

namespace slip {
namespace {

using Lines = std::vector<std::string>;

TEST(DiffLines, FindsNoDifferenceBetweenEqualTexts) {
  const LineDiff diff = diff_lines("a\nb\nc", "a\nb\nc");
  EXPECT_TRUE(diff.is_equal());
  EXPECT_EQ(diff.n_equal, 3);
}

TEST(DiffLines, IgnoresWhiteSpaceAtTheEndOnly) {
  EXPECT_TRUE(diff_lines("a\nb\n\n", "a\nb").is_equal());
  EXPECT_FALSE(diff_lines(" a", "a").is_equal());
}

TEST(DiffLines, NamesAChangedLineOnBothSides) {
  const LineDiff diff = diff_lines("a\nb\nc", "a\nx\nc");
  EXPECT_EQ(diff.missing, Lines{"b"});
  EXPECT_EQ(diff.extra, Lines{"x"});
  EXPECT_EQ(diff.n_equal, 2);
}

TEST(DiffLines, AlignsAfterADroppedLine) {
  const LineDiff diff = diff_lines("a\nb\nc\nd", "a\nc\nd");
  EXPECT_EQ(diff.missing, Lines{"b"});
  EXPECT_TRUE(diff.extra.empty());
}

TEST(DiffLines, CountsEveryWantedLineAsMissingWhenNothingWasFound) {
  const LineDiff diff = diff_lines("a\nb", "");
  EXPECT_EQ(diff.n_wanted, 2);
  EXPECT_EQ(diff.missing, (Lines{"a", "b"}));
}

TEST(DiffLines, CutsTextsAtItsBound) {
  std::string text;
  for (size_t i = 0; i < kDiffLinesMax + 10; ++i) text += "x\n";
  EXPECT_EQ(diff_lines(text, text).n_wanted, static_cast<int32_t>(kDiffLinesMax));
}

}  // namespace
}  // namespace slip
