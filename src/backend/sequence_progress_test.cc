#include "backend/sequence_progress.h"

#include <gtest/gtest.h>

namespace slip {
namespace {

SequenceProgress at_tokens(int32_t n, StateOptions options = {}) {
  SequenceProgress progress;
  progress.begin(options);
  progress.resume(n);
  return progress;
}

const TokenId kTokens[] = {TokenId{4}, TokenId{5}, TokenId{6}};

TEST(SequenceProgress, RowsThatAreNotCommittedAreForgotten) {
  SequenceProgress progress = at_tokens(2);
  progress.begin_rows(kTokens);
  progress.commit(3);
  EXPECT_EQ(progress.ids.size(), 3u);
  EXPECT_EQ(progress.ids.back(), TokenId{4});
}

TEST(SequenceProgress, AChildDoesNotTakeOverUncommittedTokens) {
  SequenceProgress parent = at_tokens(2);
  parent.begin_rows(kTokens);
  SequenceProgress child;
  child.begin({});
  child.follow(parent);
  EXPECT_EQ(child.ids.size(), 2u);
  EXPECT_EQ(child.n_committed, 2);
}

TEST(SequenceProgress, AnEntryThatAssumedAnotherTokenIsVoid) {
  for (const bool is_right : {false, true}) {
    SequenceProgress progress = at_tokens(2, {.keeps_draft_history = true});
    progress.n_draft_entries = 2;
    progress.drafted_after = is_right ? kTokens[0] : TokenId{9};
    progress.begin_rows(kTokens);
    EXPECT_EQ(progress.n_draft_entries, is_right ? 2 : 1);
  }
}

TEST(SequenceProgress, TruncatingTakesBackEntriesThatUsedTokensNoLongerThere) {
  SequenceProgress progress = at_tokens(2, {.keeps_draft_history = true});
  progress.begin_rows(kTokens);
  progress.commit(5);
  progress.n_draft_entries = 4;
  progress.truncate(3);
  EXPECT_EQ(progress.n_draft_entries, 2);
}

TEST(SequenceProgress, WritesBeginAtTheFirstRowThatAnyLayerMayStillChange) {
  SequenceProgress progress = at_tokens(8, {.keeps_draft_history = true});
  progress.n_folded = 6;
  EXPECT_EQ(progress.first_writable(), 6);
  progress.n_draft_entries = 4;
  EXPECT_EQ(progress.first_writable(), 4);
  progress.options.keeps_draft_history = false;
  EXPECT_EQ(progress.first_writable(), 6);
}

}  // namespace
}  // namespace slip
