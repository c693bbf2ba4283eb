#include "text/tag_reading.h"

#include <gtest/gtest.h>

#include "text/tool_call.h"

namespace slip {
namespace {

TagMatch match_gap(const std::string& text) { return TagReading(text, 0).gap().match(); }

TagMatch match_name(const std::string& text) {
  std::string name;
  return TagReading(text, 0).name(name).match();
}

TEST(TagReading, IsUndecidedOnlyWhileEverythingFits) {
  EXPECT_EQ(TagReading("<ab", 0).literal("<abc>").match(), TagMatch::kMaybe);
  EXPECT_EQ(TagReading("<ac", 0).literal("<abc>").match(), TagMatch::kNo);
  EXPECT_EQ(TagReading("<abc>", 0).literal("<abc>").match(), TagMatch::kYes);
}

TEST(TagReading, ReadsPartsOneBehindTheOther) {
  std::string name;
  TagReading reading("..<a> \n<f=some name>rest", 2);
  reading.literal("<a>").gap().literal("<f=").name(name);
  EXPECT_EQ(reading.match(), TagMatch::kYes);
  EXPECT_EQ(name, "some name");
  EXPECT_EQ(reading.at(), 20U);
}

TEST(TagReading, StopsAtTheFirstPartThatFails) {
  std::string name = "untouched";
  TagReading reading("<b>name>", 0);
  reading.literal("<a>").name(name);
  EXPECT_EQ(reading.match(), TagMatch::kNo);
  EXPECT_EQ(name, "untouched");
}

TEST(TagReading, BoundsAGap) {
  EXPECT_EQ(match_gap("x"), TagMatch::kYes);
  EXPECT_EQ(match_gap(std::string(kTagGapBytesMax, '\n') + "x"), TagMatch::kYes);
  EXPECT_EQ(match_gap(std::string(kTagGapBytesMax, '\n')), TagMatch::kMaybe);
  EXPECT_EQ(match_gap(std::string(kTagGapBytesMax + 1, '\n')), TagMatch::kNo);
}

TEST(TagReading, BoundsAName) {
  EXPECT_EQ(match_name(std::string(kToolNameBytesMax, 'n') + ">"), TagMatch::kYes);
  EXPECT_EQ(match_name(std::string(kToolNameBytesMax, 'n')), TagMatch::kMaybe);
  EXPECT_EQ(match_name(std::string(kToolNameBytesMax + 1, 'n')), TagMatch::kNo);
}

TEST(TagReading, RefusesNamesThatAreEmptyOrHoldTagsOrControlCharacters) {
  for (const char* text : {">", "a<b>", "a\nb>", "a\x7F"}) {
    EXPECT_EQ(match_name(text), TagMatch::kNo) << text;
  }
  EXPECT_EQ(match_name("\u00FC.x-1 $>"), TagMatch::kYes);
}

}  // namespace
}  // namespace slip
