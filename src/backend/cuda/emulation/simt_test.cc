// The emulation itself: what no GPU can be asked.
#include "backend/cuda/emulation/simt.h"

#include <algorithm>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace slip::cuda::emulation {
namespace {

constexpr dim3 kOneBlock{1, 1, 1};

TEST(Emulation, EveryThreadOfEveryBlockRunsOnce) {
  std::set<std::vector<unsigned>> seen;
  size_t n_runs = 0;
  run_grid({2, 3, 2}, {4, 2, 1}, 0, [&] {
    seen.insert({blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y});
    ++n_runs;
  });
  EXPECT_EQ(n_runs, 12u * 8u);
  EXPECT_EQ(seen.size(), n_runs);
}

TEST(Emulation, NoThreadPassesABarrierBeforeAllHaveReachedIt) {
  int n_arrived = 0;
  run_grid(kOneBlock, {64, 1, 1}, 0, [&] {
    ++n_arrived;
    __syncthreads();
    EXPECT_EQ(n_arrived, 64);
  });
}

// What a race needs to show.
TEST(Emulation, ThreadsGoOnInAnotherOrderAfterEveryBarrier) {
  std::vector<unsigned> firsts;
  unsigned n_arrived = 0;
  run_grid(kOneBlock, {64, 1, 1}, 0, [&] {
    for (int round = 0; round < 8; ++round) {
      if (n_arrived++ % 64 == 0) firsts.push_back(threadIdx.x);
      __syncthreads();
    }
  });
  ASSERT_EQ(firsts.size(), 8u);
  EXPECT_GT((std::set<unsigned>(firsts.begin(), firsts.end()).size()), 4u);
}

TEST(Emulation, WarpsDriftApartBetweenBarriers) {
  int n_done[2] = {}, lead_max = 0;
  run_grid(kOneBlock, {64, 1, 1}, 0, [&] {
    const auto warp = threadIdx.x / 32;
    for (int round = 0; round < 100; ++round) {
      __syncwarp();
      if (threadIdx.x % 32 == 0) ++n_done[warp];
      lead_max = std::max(lead_max, n_done[warp] - n_done[1 - warp]);
    }
  });
  EXPECT_GT(lead_max, 5);
}

TEST(Emulation, LanesOfAMaskExchangeWithoutTheOthers) {
  std::vector<int> got(32, -1);
  run_grid(kOneBlock, {32, 1, 1}, 0, [&] {
    const auto lane = static_cast<int>(threadIdx.x);
    if (lane >= 8) return;
    got[threadIdx.x] = __shfl_xor_sync(0xFFu, lane * 10, 3);
  });
  for (int lane = 0; lane < 32; ++lane)
    EXPECT_EQ(got[static_cast<size_t>(lane)], lane < 8 ? (lane ^ 3) * 10 : -1) << "lane " << lane;
}

TEST(Emulation, AShuffleGivesEveryLaneWhatOneHas) {
  run_grid(kOneBlock, {32, 1, 1}, 0, [] {
    const auto lane = static_cast<int>(threadIdx.x);
    EXPECT_EQ(__shfl_sync(0xFFFFFFFFu, lane * 10, 7), 70);
  });
}

TEST(Emulation, VotesOfTheBlockAreThoseOfOneBarrier) {
  run_grid(kOneBlock, {64, 1, 1}, 0, [] {
    EXPECT_EQ(__syncthreads_or(threadIdx.x == 5 ? 1 : 0), 1);
    EXPECT_EQ(__syncthreads_or(0), 0);
  });
}

TEST(Emulation, SharedMemoryOfEveryBlockStartsAsNaN) {
  run_grid({2, 1, 1}, {32, 1, 1}, 128, [] {
    auto* shared = reinterpret_cast<float*>(dynamic_shared_bytes());
    EXPECT_TRUE(std::isnan(shared[threadIdx.x]));
    shared[threadIdx.x] = 1;
  });
}

TEST(EmulationDeathTest, ABarrierThatSomeNeverReachEndsTheProgram) {
  EXPECT_DEATH(run_grid(kOneBlock, {32, 1, 1}, 0,
                        [] {
                          if (threadIdx.x == 0) __syncwarp();
                          if (threadIdx.x != 0) __syncthreads();
                        }),
               "step\\(\\)");
}

}  // namespace
}  // namespace slip::cuda::emulation
