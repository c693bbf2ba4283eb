#include "backend/cpu/cpu_states.h"

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

class CpuStatesTest : public testing::Test {
 protected:
  static constexpr int32_t kContext = 20000;
  CpuStates states_{
      StateLayout(small_config(), {.type = DType::kF32}),
      {.states_max = 2, .context_tokens_max = kContext, .cache_tokens_max = kContext}};
};

TEST_F(CpuStatesTest, BlocksOfASequenceHaveMemoryOfTheirOwn) {
  const StateId id = *states_.open({});
  ASSERT_TRUE(states_.reserve(id, kContext));
  std::vector<std::byte*> blocks = states_.memory(id).blocks;
  EXPECT_GE(static_cast<int32_t>(blocks.size()) * kCacheBlockTokens, kContext);
  std::ranges::sort(blocks);
  for (size_t i = 1; i < blocks.size(); ++i) {
    ASSERT_GE(blocks[i] - blocks[i - 1], static_cast<ptrdiff_t>(states_.layout().kv.block_bytes()));
  }
}

TEST_F(CpuStatesTest, AForkHasACopyOfTheGranuleThatItsParentWritesOn) {
  const StateId parent = *states_.open({});
  ASSERT_TRUE(states_.reserve(parent, 5));
  states_[parent].ids.assign(5, TokenId{1});
  states_[parent].n_committed = states_[parent].n_folded = 5;
  std::byte* written = states_.memory(parent).blocks.front();
  written[3] = std::byte{42};
  states_.memory(parent).recurrent.span()[1] = 7;
  const StateId child = *states_.fork(parent);
  written[3] = std::byte{0};
  EXPECT_EQ(states_.memory(child).blocks.front()[3], std::byte{42});
  EXPECT_EQ(states_.memory(child).recurrent.span()[1], 7);
}

}  // namespace
}  // namespace slip::cpu
