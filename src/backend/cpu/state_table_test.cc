#include "backend/cpu/state_table.h"

#include <gtest/gtest.h>

namespace slip::cpu {
namespace {

ModelConfig small_config() {
  ModelConfig config;
  config.hidden_size = 32;
  config.attention = {.n_heads = 2, .n_kv_heads = 1, .head_dim = 32, .rope = default_rope(8, 1e4)};
  config.delta_net = {
      .n_key_heads = 1, .n_value_heads = 1, .key_dim = 32, .value_dim = 32, .conv_kernel = 4};
  config.layers = {{MixerKind::kDeltaNet}, {MixerKind::kAttention}};
  return config;
}

class StateTableTest : public testing::Test {
 protected:
  static constexpr int32_t kContext = 20000;
  StateTable table_{StateLayout(small_config(), {.type = DType::kF32}), /*states_max=*/3, kContext,
                    /*cache_tokens_max=*/kContext};

  // As if `n` tokens had been run and folded.
  void cover(StateId id, int32_t n) {
    SequenceState& state = table_[id];
    state.ids.assign(static_cast<size_t>(n), TokenId{1});
    state.n_committed = state.n_folded = n;
  }
};

TEST_F(StateTableTest, OpensNoMoreThanPlanned) {
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(table_.open({}).has_value());
  EXPECT_FALSE(table_.open({}).has_value());
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

TEST_F(StateTableTest, RefusesRoomBeyondTheContext) {
  EXPECT_FALSE(table_.reserve(*table_.open({}), kContext + 1));
}

TEST_F(StateTableTest, ForkSharesFullGranulesAndCopiesTheOneOfTheForkPoint) {
  const StateId parent = *table_.open({});
  const int32_t n_tokens = table_.pool().granule_tokens() + 5;
  ASSERT_TRUE(table_.reserve(parent, n_tokens));
  cover(parent, n_tokens);
  const StateId child = *table_.fork(parent);
  EXPECT_EQ(table_[child].granules[0], table_[parent].granules[0]);
  EXPECT_NE(table_[child].granules[1], table_[parent].granules[1]);
}

TEST_F(StateTableTest, ForkCopiesAGranuleThatUnfoldedRowsCouldStillRewrite) {
  const StateId parent = *table_.open({});
  const int32_t granule_tokens = table_.pool().granule_tokens();
  ASSERT_TRUE(table_.reserve(parent, granule_tokens + 1));
  cover(parent, granule_tokens + 1);
  table_[parent].n_folded = granule_tokens - 1;  // a truncate may come back to here
  const StateId child = *table_.fork(parent);
  EXPECT_NE(table_[child].granules[0], table_[parent].granules[0]);
}

TEST_F(StateTableTest, ForkCopiesAGranuleThatTheDraftHeadHasYetToFill) {
  const StateId parent = *table_.open({.keeps_draft_history = true});
  const int32_t granule_tokens = table_.pool().granule_tokens();
  ASSERT_TRUE(table_.reserve(parent, granule_tokens));
  cover(parent, granule_tokens);
  table_[parent].n_draft_entries = granule_tokens - 1;  // the last entry waits for the next token
  const StateId child = *table_.fork(parent);
  EXPECT_NE(table_[child].granules[0], table_[parent].granules[0]);
}

TEST_F(StateTableTest, AClosedParentLeavesTheChildItsGranules) {
  const StateId parent = *table_.open({});
  const int32_t granule_tokens = table_.pool().granule_tokens();
  ASSERT_TRUE(table_.reserve(parent, granule_tokens));
  cover(parent, granule_tokens);
  table_[parent].blocks[0][0] = std::byte{42};
  const StateId child = *table_.fork(parent);
  table_.close(parent);
  const StateId other = *table_.open({});
  ASSERT_TRUE(table_.reserve(other, granule_tokens));
  table_[other].blocks[0][0] = std::byte{0};
  EXPECT_EQ(table_[child].blocks[0][0], std::byte{42});
}

}  // namespace
}  // namespace slip::cpu
