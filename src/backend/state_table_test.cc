#include "backend/state_table.h"

#include <algorithm>
#include <memory>

#include <gtest/gtest.h>

namespace slip {
namespace {

constexpr int32_t kGranuleTokens = 256;
constexpr int32_t kContext = 20000;

// Memory of one number a granule, and one a state.
class Numbers final : public StateTable {
 public:
  Numbers() : StateTable({3, kContext, kContext}, kGranuleTokens) {}

  size_t body_bytes(int32_t, bool) const override { return 0; }
  void write_body(StateId, std::span<std::byte>) override {}
  void read_body(StateId, std::span<const std::byte>) override {}

  int& of_granule(StateId id, size_t i) { return content_[at(attached_[index(id)][i])]; }
  int& of_state(StateId id) { return recurrent_[index(id)]; }
  void refuse_after(int n) { n_accepted_ = n; }  // granules, counted from now on

 private:
  static size_t at(int32_t i) { return static_cast<size_t>(i); }
  void clear(StateId id) override { recurrent_[index(id)] = 0; }
  void copy(StateId from, StateId to) override { recurrent_[index(to)] = recurrent_[index(from)]; }
  bool attach(StateId id, int32_t granule) override {
    if (n_accepted_-- == 0) return false;
    attached_[index(id)].push_back(granule);
    return true;
  }
  void detach(StateId id, size_t n_kept) override { attached_[index(id)].resize(n_kept); }
  void copy_granule(StateId from, StateId to, size_t i) override {
    of_granule(to, i) = of_granule(from, i);
  }

  std::vector<int> content_ = std::vector<int>(at(pool().n_granules()));
  std::vector<std::vector<int32_t>> attached_ = std::vector<std::vector<int32_t>>(3);
  std::vector<int> recurrent_ = std::vector<int>(3);
  int n_accepted_ = -1;
};

class StateTableTest : public testing::Test {
 protected:
  Numbers table_;

  // As if `n` tokens had been run and folded.
  StateId covering(int32_t n, const StateOptions& options = {}) {
    const StateId id = table_.open(options).value();
    EXPECT_TRUE(table_.reserve(id, n));
    SequenceProgress& state = table_[id];
    state.ids.assign(static_cast<size_t>(n), TokenId{1});
    state.n_committed = state.n_folded = n;
    return id;
  }
};

TEST_F(StateTableTest, OpensNoMoreThanPlanned) {
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(table_.open({}).has_value());
  EXPECT_FALSE(table_.open({}).has_value());
}

TEST_F(StateTableTest, AStateBeginsEmptyWhereAnotherWasClosed) {
  const StateId first = *table_.open({});
  table_.of_state(first) = 5;
  table_.close(first);
  EXPECT_EQ(table_.of_state(*table_.open({})), 0);
}

TEST_F(StateTableTest, GivesGranulesBackOnClose) {
  const StateId id = *table_.open({});
  const int32_t n_free = table_.pool().n_free();
  ASSERT_TRUE(table_.reserve(id, kContext));
  EXPECT_LT(table_.pool().n_free(), n_free);
  table_.close(id);
  EXPECT_EQ(table_.pool().n_free(), n_free);
}

TEST_F(StateTableTest, LeavesTheStateAsItWasWhenThereIsNoRoom) {
  ASSERT_TRUE(table_.reserve(*table_.open({}), kContext));
  const StateId second = *table_.open({});
  EXPECT_FALSE(table_.reserve(second, kContext));
  EXPECT_EQ(table_.tokens_reserved(second), 0);
}

TEST_F(StateTableTest, LeavesTheStateAsItWasWhereTheDeviceRefusesAGranule) {
  const StateId id = covering(kGranuleTokens);
  const int32_t n_free = table_.pool().n_free();
  table_.refuse_after(2);
  EXPECT_FALSE(table_.reserve(id, 5 * kGranuleTokens));
  EXPECT_EQ(table_.tokens_reserved(id), kGranuleTokens);
  EXPECT_EQ(table_.pool().n_free(), n_free);
  EXPECT_TRUE(table_.reserve(id, 5 * kGranuleTokens));
}

TEST_F(StateTableTest, AForkThatTheDeviceRefusesLeavesNothing) {
  const StateId parent = covering(kGranuleTokens + 5);
  const int32_t n_free = table_.pool().n_free();
  for (const int n_accepted : {0, 1}) {  // the shared granule, the copied one
    table_.refuse_after(n_accepted);
    EXPECT_FALSE(table_.fork(parent).has_value());
    EXPECT_EQ(table_.pool().n_free(), n_free);
  }
  EXPECT_TRUE(table_.fork(parent).has_value());
}

TEST_F(StateTableTest, RefusesRoomBeyondTheContext) {
  EXPECT_FALSE(table_.reserve(*table_.open({}), kContext + 1));
}

TEST_F(StateTableTest, ForkSharesFullGranulesAndCopiesTheOneOfTheForkPoint) {
  const StateId parent = covering(kGranuleTokens + 5);
  const StateId child = *table_.fork(parent);
  EXPECT_EQ(table_.granules(child)[0], table_.granules(parent)[0]);
  EXPECT_NE(table_.granules(child)[1], table_.granules(parent)[1]);
}

TEST_F(StateTableTest, AForkHasWhatItsParentHad) {
  const StateId parent = covering(kGranuleTokens + 5);
  table_.of_granule(parent, 0) = 6;
  table_.of_granule(parent, 1) = 7;
  table_.of_state(parent) = 8;
  const StateId child = *table_.fork(parent);
  EXPECT_EQ(table_.of_granule(child, 0), 6);
  EXPECT_EQ(table_.of_granule(child, 1), 7);
  EXPECT_EQ(table_.of_state(child), 8);
}

TEST_F(StateTableTest, ForkCopiesAGranuleThatUnfoldedRowsCouldStillRewrite) {
  const StateId parent = covering(kGranuleTokens + 1);
  table_[parent].n_folded = kGranuleTokens - 1;  // a truncate may come back to here
  const StateId child = *table_.fork(parent);
  EXPECT_NE(table_.granules(child)[0], table_.granules(parent)[0]);
}

TEST_F(StateTableTest, ForkCopiesAGranuleThatTheDraftHeadHasYetToFill) {
  const StateId parent = covering(kGranuleTokens, {.keeps_draft_history = true});
  table_[parent].n_draft_entries = kGranuleTokens - 1;  // the last entry waits for the next token
  const StateId child = *table_.fork(parent);
  EXPECT_NE(table_.granules(child)[0], table_.granules(parent)[0]);
}

TEST_F(StateTableTest, AClosedParentLeavesTheChildItsGranules) {
  const StateId parent = covering(kGranuleTokens);
  table_.of_granule(parent, 0) = 42;
  const StateId child = *table_.fork(parent);
  table_.close(parent);
  const StateId other = *table_.open({});
  ASSERT_TRUE(table_.reserve(other, kGranuleTokens));
  table_.of_granule(other, 0) = 0;
  EXPECT_EQ(table_.of_granule(child, 0), 42);
}

}  // namespace
}  // namespace slip
