#include "model/families/delta_net_rows.h"

#include <gtest/gtest.h>

namespace slip {
namespace {

// Two key heads of width 1, two value heads of width 1 each: a block is q k v0 v1 z0 z1.
TEST(DeltaNetRows, CollectsEachProjectionFromTheBlocksOfTheKeyHeads) {
  const DeltaNetRows rows = delta_net_rows(
      {.n_key_heads = 2, .n_value_heads = 4, .key_dim = 1, .value_dim = 1, .conv_kernel = 4});
  EXPECT_EQ(rows.qkv, (std::vector<int32_t>{0, 6, 1, 7, 2, 3, 8, 9}));
  EXPECT_EQ(rows.z, (std::vector<int32_t>{4, 5, 10, 11}));
  EXPECT_EQ(rows.b, (std::vector<int32_t>{0, 1, 4, 5}));
  EXPECT_EQ(rows.a, (std::vector<int32_t>{2, 3, 6, 7}));
}

TEST(DeltaNetRows, KeepsTheRowsOfAHeadTogether) {
  const DeltaNetRows rows = delta_net_rows(
      {.n_key_heads = 1, .n_value_heads = 1, .key_dim = 2, .value_dim = 3, .conv_kernel = 4});
  EXPECT_EQ(rows.qkv, (std::vector<int32_t>{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(rows.z, (std::vector<int32_t>{7, 8, 9}));
}

}  // namespace
}  // namespace slip
