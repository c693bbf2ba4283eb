#include "backend/draft_chain.h"

#include <array>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace slip {
namespace {

// A head that is as sure of token 1 as one says, of two tokens.
std::array<float, 2> sure(double chance) {
  return {0, static_cast<float>(std::log(chance / (1 - chance)))};
}

// The tokens drafted by a head that is as sure as `chances` say, one after the other.
std::vector<TokenId> run(const std::vector<double>& chances, double reach_min) {
  RowSampler sampler(2);
  std::vector<TokenId> out(chances.size(), TokenId{-1});
  int32_t n_drafted = -1;
  const DraftRequest request{.out = out, .reach_min = reach_min, .maybe_n_drafted = &n_drafted};
  DraftChain chain;
  for (size_t i = 0; !chain.is_over; ++i) extend(chain, request, 10, sure(chances[i]), sampler);
  EXPECT_EQ(n_drafted, chain.n_drafted);
  out.resize(static_cast<size_t>(n_drafted));
  return out;
}

TEST(DraftChain, FillsWhatWasAskedForWhereNoReachIsWanted) {
  EXPECT_EQ(run({0.9, 0.2, 0.1}, 0), (std::vector{TokenId{1}, TokenId{0}, TokenId{0}}));
}

TEST(DraftChain, EndsBehindTheTokenAtWhichItsReachFalls) {
  EXPECT_EQ(run({0.9, 0.9, 0.9, 0.9}, 0.8).size(), 3);  // 0.9, 0.81, 0.729
  EXPECT_EQ(run({0.9, 0.9, 0.9, 0.9}, 0.85).size(), 2);
  EXPECT_EQ(run({0.9, 0.9, 0.9, 0.9}, 0.95).size(), 1);
}

TEST(DraftChain, CountsTheLikeliestTokenWhicheverItIs) {
  EXPECT_EQ(run({0.1, 0.9, 0.1, 0.9}, 0.8).size(), 3);
}

TEST(DraftChain, GoesOnWithTokenZeroWhereTheHeadHasNoMaximum) {
  RowSampler sampler(2);
  std::array<TokenId, 2> out{TokenId{1}, TokenId{1}};
  DraftChain chain;
  extend(chain, {.out = out}, 10, std::array{NAN, 0.0f}, sampler);
  EXPECT_EQ(out[0], TokenId{0});
  EXPECT_FALSE(chain.is_over);
}

TEST(DraftChain, EndsAtOnceWhereAHeadWithoutAMaximumIsAskedHowSureItIs) {
  RowSampler sampler(2);
  std::array<TokenId, 2> out{};
  DraftChain chain;
  extend(chain, {.out = out, .reach_min = 0.01}, 10, std::array{NAN, 0.0f}, sampler);
  EXPECT_TRUE(chain.is_over);
}

// Under the seeded coupling a draft shares the noise of its position, so a head that knows the
// target's logits drafts the target's tokens.
TEST(DraftChain, DrawsTheTokensThatTheTargetWouldDrawFromTheSameLogits) {
  const SamplingParams hot{.shape = {.temperature = 1}};
  const SequenceSampling sampling{.params = &hot, .seed = 5};
  const std::array<float, 64> flat{};
  RowSampler sampler(64);
  std::array<TokenId, 8> out{};
  const DraftRequest request{.out = out, .maybe_sampling = &sampling};
  DraftChain chain;
  while (!chain.is_over) extend(chain, request, 10, flat, sampler);
  for (int32_t i = 0; i < 8; ++i) {
    const RowQuery row{.maybe_sampling = &sampling, .position = 11 + i};
    EXPECT_EQ(sampler.choose(flat, row).next, out[static_cast<size_t>(i)]) << i;
  }
}

}  // namespace
}  // namespace slip
