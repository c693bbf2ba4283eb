#include "backend/split_rule.h"

#include <gtest/gtest.h>

namespace slip {
namespace {

// The definition, in the words of its declaration.
int32_t split_tokens_by_formula(int32_t position, int32_t n_splits) {
  const int32_t unit = kCacheBlockTokens * n_splits;
  return kCacheBlockTokens * ((position + 1 + unit - 1) / unit);
}

TEST(SplitRule, SplitLengthIsTheFormulaOfTheRowsOwnPosition) {
  for (const int32_t n_splits : {1, 2, 7, 32}) {
    for (int32_t position = 0; position < 5000; ++position) {
      ASSERT_EQ(split_tokens(position, n_splits), split_tokens_by_formula(position, n_splits))
          << "position " << position << ", " << n_splits << " splits";
    }
  }
}

TEST(SplitRule, NoMoreThanTheWantedSplitsCoverTheRange) {
  for (const int32_t n_splits : {1, 3, 16}) {
    for (int32_t position = 0; position < 5000; ++position) {
      const int32_t length = split_tokens(position, n_splits);
      ASSERT_LE((position + length) / length, n_splits) << "position " << position;
    }
  }
}

TEST(SplitRule, RowsUntilChangeEndExactlyAtTheChange) {
  for (const int32_t n_splits : {1, 2, 7, 32}) {
    for (int32_t position = 0; position < 5000; ++position) {
      const int32_t n_rows = rows_until_split_change(position, n_splits);
      const int32_t length = split_tokens(position, n_splits);
      ASSERT_GE(n_rows, 1);
      ASSERT_EQ(split_tokens(position + n_rows - 1, n_splits), length) << "position " << position;
      ASSERT_NE(split_tokens(position + n_rows, n_splits), length) << "position " << position;
    }
  }
}

TEST(SplitRule, HoldsAtAMillionTokens) {
  EXPECT_EQ(split_tokens(999'999, 32), 64 * 489);  // ceil(1,000,000 / 2048) = 489
  EXPECT_EQ(rows_until_split_change(999'999, 32), 489 * 2048 - 999'999);
}

}  // namespace
}  // namespace slip
