#include "backend/cpu/kv_layout.h"

#include <numeric>
#include <vector>

#include <gtest/gtest.h>

namespace slip::cpu {
namespace {

constexpr KvPlane kTiled{.token_tile = 16,
                         .token_tile_stride = 16 * 64,
                         .token_stride = 32,
                         .dim_tile = 32,
                         .dim_tile_stride = 512,
                         .dim_stride = 1};

constexpr KvLayout layout_of(DType type) {
  return {.n_layers = 2,
          .n_kv_heads = 2,
          .head_dim = 64,
          .format = {.type = type, .keys = kTiled, .values = token_major(64)}};
}

TEST(KvLayout, PutsHeadsOfALayerSideBySideAndKeysBeforeValues) {
  constexpr KvLayout kTwo = layout_of(DType::kBF16);
  constexpr size_t kPlane = 64 * 64 * 2;
  EXPECT_EQ(kTwo.value_offset(0, 0) - kTwo.key_offset(0, 0), kPlane);
  EXPECT_EQ(kTwo.key_offset(0, 1), 2 * kPlane);
  EXPECT_EQ(kTwo.key_offset(1, 0), 4 * kPlane);
  EXPECT_EQ(kTwo.block_bytes(), 8 * kPlane);
}

TEST(KvPlane, GivesEveryElementAPlaceOfItsOwn) {
  for (const KvPlane& plane : {token_major(64), dim_major(), kTiled}) {
    std::vector<int> uses(64 * 64, 0);
    for (int32_t token = 0; token < 64; ++token) {
      for (int32_t dim = 0; dim < 64; ++dim) ++uses.at(plane.index(token, dim));
    }
    EXPECT_EQ(uses, std::vector<int>(64 * 64, 1));
  }
}

TEST(KvPlane, WalksTheDimsOfATokenInOrder) {
  for (const KvPlane& plane : {token_major(64), dim_major(), kTiled}) {
    int32_t next = 0;
    plane.for_dims(21, 64, [&](int32_t dim, size_t at) {
      EXPECT_EQ(dim, next++);
      EXPECT_EQ(at, plane.index(21, dim));
    });
    EXPECT_EQ(next, 64);
  }
}

TEST(KvPlane, HasTilesWhereTheStridesSay) {
  EXPECT_EQ(kTiled.index(0, 31), 31u);
  EXPECT_EQ(kTiled.index(0, 32), 512u);
  EXPECT_EQ(kTiled.index(1, 0), 32u);
  EXPECT_EQ(kTiled.index(16, 0), 1024u);
}

TEST(KvHead, FindsInEveryTypeWhatWasSet) {
  for (const DType type : {DType::kF32, DType::kF16, DType::kBF16}) {
    const KvLayout layout = layout_of(type);
    std::vector<std::byte> first(layout.block_bytes()), second(layout.block_bytes());
    std::byte* blocks[] = {first.data(), second.data()};
    const KvHead kv{layout, blocks, 1, 1};
    kv.set_key(70, 3, 1.5f);
    kv.set_value(70, 3, -2.5f);
    EXPECT_EQ(kv.key(70, 3), 1.5f);
    EXPECT_EQ(kv.value(70, 3), -2.5f);
    EXPECT_EQ(kv.key(6, 3), 0.0f);  // the same place of the block before
    std::vector<float> row(64);
    kv.read_key(70, row);
    EXPECT_EQ(row[3], 1.5f);
    EXPECT_EQ(row[4], 0.0f);
    kv.read_value(70, row);
    EXPECT_EQ(row[3], -2.5f);
  }
}

TEST(KvHead, RoundsToTheTypeOfTheCache) {
  const KvLayout layout = layout_of(DType::kBF16);
  std::vector<std::byte> block(layout.block_bytes());
  std::byte* blocks[] = {block.data()};
  const KvHead kv{layout, blocks, 0, 0};
  kv.set_value(0, 0, 1.0f + 0x1p-8f + 0x1p-12f);
  EXPECT_EQ(kv.value(0, 0), 1.0f + 0x1p-7f);
}

}  // namespace
}  // namespace slip::cpu
