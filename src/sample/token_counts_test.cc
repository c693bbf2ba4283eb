#include "sample/token_counts.h"

#include <gtest/gtest.h>

namespace slip {
namespace {

TEST(TokenCounts, ListEveryTokenOnceInOrder) {
  TokenCounts counts(5);
  counts.add_prompt(std::vector{TokenId{3}, TokenId{1}, TokenId{3}});
  counts.add_answer(TokenId{1});
  counts.add_answer(TokenId{0});
  EXPECT_EQ(std::vector<TokenId>(counts.seen().begin(), counts.seen().end()),
            (std::vector{TokenId{3}, TokenId{1}, TokenId{0}}));
}

TEST(TokenCounts, CountTheAnswerOnly) {
  TokenCounts counts(5);
  counts.add_prompt(std::vector{TokenId{3}, TokenId{3}});
  counts.add_answer(TokenId{1});
  counts.add_answer(TokenId{1});
  EXPECT_EQ(counts.in_answer(TokenId{3}), 0);
  EXPECT_EQ(counts.in_answer(TokenId{1}), 2);
}

}  // namespace
}  // namespace slip
