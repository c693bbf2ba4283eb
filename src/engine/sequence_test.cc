#include "engine/sequence.h"

#include <gtest/gtest.h>

namespace slip {
namespace {

Sequence answering(int32_t max_tokens, std::vector<TokenId> stop_ids) {
  Sequence s;
  s.n_prompt = 2;
  s.tokens = {TokenId{1}, TokenId{2}};
  s.max_tokens = max_tokens;
  s.stop_ids = std::move(stop_ids);
  return s;
}

const std::vector<TokenId> kAccepted{TokenId{5}, TokenId{6}, TokenId{7}};

TEST(Append, AddsAcceptedDraftsAndThenTheNextToken) {
  Sequence s = answering(10, {});
  const Appended appended = append(s, kAccepted, TokenId{8});
  EXPECT_EQ(s.tokens, (std::vector<TokenId>{TokenId{1}, TokenId{2}, TokenId{5}, TokenId{6},
                                            TokenId{7}, TokenId{8}}));
  EXPECT_EQ(appended.n_tokens, 4);
  EXPECT_EQ(appended.finish, std::nullopt);
}

TEST(Append, EndsAtAStopIdAmongTheDrafts) {
  Sequence s = answering(10, {TokenId{9}, TokenId{6}});
  const Appended appended = append(s, kAccepted, TokenId{8});
  EXPECT_EQ(s.tokens.back(), TokenId{6});
  EXPECT_EQ(appended.n_tokens, 2);
  EXPECT_EQ(appended.finish, FinishReason::kStop);
}

TEST(Append, EndsAtMaxTokensAmongTheDrafts) {
  Sequence s = answering(1, {});
  const Appended appended = append(s, kAccepted, TokenId{8});
  EXPECT_EQ(appended.n_tokens, 1);
  EXPECT_EQ(appended.finish, FinishReason::kLength);
}

TEST(Append, AStopAtTheLastAllowedTokenIsAStop) {
  Sequence s = answering(4, {TokenId{8}});
  EXPECT_EQ(append(s, kAccepted, TokenId{8}).finish, FinishReason::kStop);
}

TEST(Append, KeepsTheAcceptedDraftsWhereNoNextTokenExists) {
  Sequence s = answering(10, {});
  EXPECT_EQ(append(s, kAccepted, std::nullopt).n_tokens, 3);
  EXPECT_EQ(s.tokens.back(), TokenId{7});
}

TEST(Sequence, IsDecodingFromItsFirstAnswerTokenOn) {
  Sequence s = answering(10, {});
  s.n_committed = 1;
  EXPECT_FALSE(s.is_decoding());  // one known token, but it is the prompt's
  s.tokens.push_back(TokenId{3});
  EXPECT_FALSE(s.is_decoding());  // two known tokens
  s.n_committed = 2;
  EXPECT_TRUE(s.is_decoding());
}

TEST(CloseStats, CountsWholeCacheBlocks) {
  Sequence s = answering(10, {});
  s.state = StateId{0};
  s.n_committed = 65;
  RunnerInfo info;
  info.state_bytes = 1000;
  info.cache_bytes_per_token = 3;
  close_stats(s, EngineClock::time_point{}, info);
  EXPECT_EQ(s.stats.state_bytes, 1000 + 128 * 3);
}

TEST(CloseStats, SplitsTheTimeAtTheFirstToken) {
  Sequence s = answering(10, {});
  s.state = StateId{0};
  const EngineClock::time_point zero{};
  s.started = zero + std::chrono::milliseconds(5);
  s.first_token = zero + std::chrono::milliseconds(25);
  close_stats(s, zero + std::chrono::milliseconds(125), RunnerInfo{});
  EXPECT_DOUBLE_EQ(s.stats.prefill_ms, 20);
  EXPECT_DOUBLE_EQ(s.stats.decode_ms, 100);
}

TEST(FinishReason, IsSpelledAsInTheProtocol) {
  EXPECT_EQ(name(FinishReason::kStop), "stop");
  EXPECT_EQ(name(FinishReason::kLength), "length");
  EXPECT_EQ(name(FinishReason::kCancelled), "cancelled");
  EXPECT_EQ(name(FinishReason::kError), "error");
}

}  // namespace
}  // namespace slip
