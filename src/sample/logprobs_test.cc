#include "sample/logprobs.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace slip {
namespace {

const std::vector<float> kLogits = {1.0f, 3.0f, 2.0f, 3.0f};

TEST(Logprobs, AreThoseOfTheSoftmax) {
  const double total = std::exp(1.0) + 2 * std::exp(3.0) + std::exp(2.0);
  EXPECT_NEAR(logprobs_of(kLogits, TokenId{2}, 0).token.logprob, 2 - std::log(total), 1e-12);
}

TEST(Logprobs, ListTheLikeliestInOrderEqualOnesById) {
  const TokenLogprobs found = logprobs_of(kLogits, TokenId{0}, 3);
  ASSERT_EQ(found.top.size(), 3u);
  EXPECT_EQ(found.top[0].id, TokenId{1});
  EXPECT_EQ(found.top[1].id, TokenId{3});
  EXPECT_EQ(found.top[2].id, TokenId{2});
}

TEST(Logprobs, ListNoMoreThanTheVocabularyHas) {
  EXPECT_EQ(logprobs_of(kLogits, TokenId{0}, 20).top.size(), 4u);
}

TEST(Logprobs, ListNothingWhereNothingIsAsked) {
  EXPECT_TRUE(logprobs_of(kLogits, TokenId{0}, 0).top.empty());
}

}  // namespace
}  // namespace slip
