#include "backend/cpu/kv_pool.h"

#include <gtest/gtest.h>

namespace slip::cpu {
namespace {

constexpr KvLayout kLayout{
    .n_layers = 1, .n_kv_heads = 1, .head_dim = 32, .format = {.type = DType::kBF16}};

TEST(KvPool, PlansAtLeastTheTokensAskedFor) {
  const KvPool pool(kLayout, 1000000, 1);
  EXPECT_GE(int64_t{pool.n_granules()} * pool.granule_tokens(), 1000000);
}

TEST(KvPool, PlansForTheRoundingOfEveryHolder) {
  KvPool pool(kLayout, 1, 1);
  const int64_t tokens_of_each = pool.granule_tokens() + 1;  // two granules a holder
  EXPECT_GE(KvPool(kLayout, 3 * tokens_of_each, 3).n_granules(), 6);
}

TEST(KvPool, GivesNothingOnceEveryGranuleIsTaken) {
  KvPool pool(kLayout, 1, 1);
  ASSERT_TRUE(pool.take().has_value());
  EXPECT_FALSE(pool.take().has_value());
}

TEST(KvPool, FreesASharedGranuleWithItsLastReference) {
  KvPool pool(kLayout, 1, 1);
  const int32_t granule = *pool.take();
  pool.share(granule);
  pool.release(granule);
  EXPECT_EQ(pool.n_free(), 0);
  pool.release(granule);
  EXPECT_EQ(pool.n_free(), 1);
}

TEST(KvPool, KeepsBlocksApart) {
  KvPool pool(kLayout, 1, 1);
  const int32_t granule = *pool.take();
  ASSERT_GE(pool.blocks_per_granule(), 2);
  EXPECT_EQ(pool.block(granule, 1) - pool.block(granule, 0),
            static_cast<ptrdiff_t>(kLayout.block_bytes()));
}

}  // namespace
}  // namespace slip::cpu
