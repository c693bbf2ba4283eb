#include "draft/replay_source.h"

#include <gtest/gtest.h>

namespace slip {
namespace {

constexpr int32_t kVocab = 1000;
constexpr int32_t kPrompt = 5;

std::vector<TokenId> counted(int32_t n) {
  std::vector<TokenId> tokens;
  for (int32_t i = 0; i < n; ++i) tokens.push_back(TokenId{100 + i % 800});
  return tokens;
}

// What is proposed behind `n_tokens` tokens.
std::vector<TokenId> propose(ReplaySource& source, int32_t n_tokens, int32_t n_max) {
  const std::vector<TokenId> text(static_cast<size_t>(n_tokens));
  const DraftQuery query{.tokens = text, .n_max = n_max};
  Draft draft;
  source.propose({&query, 1}, {&draft, 1});
  return draft.tokens;
}

TEST(ReplaySource, ProposesWhatComesNext) {
  ReplaySource source(kPrompt, counted(20), {.vocab_size = kVocab});
  EXPECT_EQ(propose(source, kPrompt, 2), (std::vector{TokenId{100}, TokenId{101}}));
  EXPECT_EQ(propose(source, kPrompt + 7, 3),
            (std::vector{TokenId{107}, TokenId{108}, TokenId{109}}));
}

TEST(ReplaySource, EndsWithItsRecording) {
  ReplaySource source(kPrompt, counted(20), {.vocab_size = kVocab});
  EXPECT_EQ(propose(source, kPrompt + 18, 31).size(), 2u);
  EXPECT_TRUE(propose(source, kPrompt + 20, 31).empty());
  EXPECT_TRUE(propose(source, kPrompt + 90, 31).empty());
}

TEST(ReplaySource, SaysNothingInsideThePrompt) {
  ReplaySource source(kPrompt, counted(20), {.vocab_size = kVocab});
  EXPECT_TRUE(propose(source, kPrompt - 1, 31).empty());
}

TEST(ReplaySource, IsWrongAtTheRateAskedFor) {
  constexpr int32_t kTokens = 20000;
  const std::vector<TokenId> right = counted(kTokens);
  for (const double rate : {0.0, 0.1, 0.5, 1.0}) {
    ReplaySource source(0, right, {.error_rate = rate, .seed = 3, .vocab_size = kVocab});
    const std::vector<TokenId> proposed = propose(source, 0, kTokens);
    int32_t n_wrong = 0;
    for (size_t i = 0; i < proposed.size(); ++i) n_wrong += proposed[i] != right[i];
    EXPECT_NEAR(n_wrong, rate * kTokens, 300) << rate;  // four standard deviations
  }
}

TEST(ReplaySource, ErrsByPositionHoweverItIsAsked) {
  ReplaySource source(kPrompt, counted(60), {.error_rate = 0.5, .seed = 9, .vocab_size = kVocab});
  const std::vector<TokenId> whole = propose(source, kPrompt, 60);
  for (int32_t i = 0; i < 60; ++i)
    EXPECT_EQ(propose(source, kPrompt + i, 1)[0], whole[static_cast<size_t>(i)]) << i;
}

TEST(ReplaySource, ErrsElsewhereWithAnotherSeed) {
  ReplaySource a(0, counted(60), {.error_rate = 0.5, .seed = 1, .vocab_size = kVocab});
  ReplaySource b(0, counted(60), {.error_rate = 0.5, .seed = 2, .vocab_size = kVocab});
  EXPECT_NE(propose(a, 0, 60), propose(b, 0, 60));
}

TEST(ReplaySource, StaysInsideTheVocabulary) {
  ReplaySource source(0, std::vector<TokenId>(10, TokenId{1}), {.error_rate = 1});
  for (const TokenId token : propose(source, 0, 10)) EXPECT_EQ(token, TokenId{0});
}

}  // namespace
}  // namespace slip
