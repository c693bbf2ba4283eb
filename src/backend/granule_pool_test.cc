#include "backend/granule_pool.h"

#include <gtest/gtest.h>

namespace slip {
namespace {

constexpr int32_t kPoolTokens = 256;  // of a granule

TEST(GranulePool, PlansAtLeastTheTokensAskedFor) {
  const GranulePool pool(kPoolTokens, 1000001, 1);
  EXPECT_GE(int64_t{pool.n_granules()} * kPoolTokens, 1000001);
}

TEST(GranulePool, PlansForTheRoundingOfEveryHolder) {
  const int64_t tokens_of_each = kPoolTokens + 1;  // two granules a holder
  EXPECT_GE(GranulePool(kPoolTokens, 3 * tokens_of_each, 3).n_granules(), 6);
}

TEST(GranulePool, GivesNothingOnceEveryGranuleIsTaken) {
  GranulePool pool(kPoolTokens, 1, 1);
  ASSERT_TRUE(pool.take().has_value());
  EXPECT_FALSE(pool.take().has_value());
}

TEST(GranulePool, FreesASharedGranuleWithItsLastReference) {
  GranulePool pool(kPoolTokens, 1, 1);
  const int32_t granule = *pool.take();
  pool.share(granule);
  pool.release(granule);
  EXPECT_EQ(pool.n_free(), 0);
  pool.release(granule);
  EXPECT_EQ(pool.n_free(), 1);
}

}  // namespace
}  // namespace slip
