#include "sample/accept.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace slip {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

using Choice = std::optional<TokenId>;

std::vector<TokenId> ids(std::initializer_list<int32_t> values) {
  std::vector<TokenId> out;
  for (const int32_t value : values) out.push_back(TokenId{value});
  return out;
}

std::vector<Choice> choices(std::initializer_list<int32_t> values) {
  std::vector<Choice> out;
  for (const int32_t value : values) out.emplace_back(TokenId{value});
  return out;
}

TEST(Argmax, FindsTheLargestAtEveryPlace) {
  for (size_t place = 0; place < 9; ++place) {
    std::vector<float> logits(9, -2.0f);
    logits[place] = -1.0f;
    EXPECT_EQ(argmax(logits), TokenId{static_cast<int32_t>(place)});
  }
}

TEST(Argmax, GivesATieToTheLowestId) {
  EXPECT_EQ(argmax(std::vector<float>{1.0f, 3.0f, 2.0f, 3.0f, 3.0f}), TokenId{1});
}

TEST(Argmax, HoldsTheTwoZerosForATie) {
  EXPECT_EQ(argmax(std::vector<float>{-1.0f, -0.0f, 0.0f}), TokenId{1});
}

TEST(Argmax, RefusesNanAtEveryPlace) {
  for (size_t place = 0; place < 5; ++place) {
    std::vector<float> logits = {0.0f, 4.0f, 1.0f, 2.0f, 3.0f};
    logits[place] = kNan;
    EXPECT_FALSE(argmax(logits)) << place;
  }
}

TEST(Argmax, RefusesPositiveInfinityAtEveryPlace) {
  for (size_t place = 0; place < 5; ++place) {
    std::vector<float> logits = {0.0f, 4.0f, 1.0f, 2.0f, 3.0f};
    logits[place] = kInf;
    EXPECT_FALSE(argmax(logits)) << place;
  }
}

TEST(Argmax, TakesMaskedTokensForImpossible) {
  EXPECT_EQ(argmax(std::vector<float>{-kInf, -kInf, -1e30f, -kInf}), TokenId{2});
}

TEST(Argmax, RefusesARowWithEveryTokenMasked) {
  EXPECT_FALSE(argmax(std::vector<float>(4, -kInf)));
}

TEST(AcceptGreedy, GivesTheTargetsChoiceWhenNothingWasDrafted) {
  const Verdict verdict = accept_greedy({}, choices({7}));
  EXPECT_EQ(verdict.n_accepted, 0);
  EXPECT_EQ(verdict.next, TokenId{7});
  EXPECT_TRUE(verdict.is_finite);
}

TEST(AcceptGreedy, StopsAtTheFirstDraftThatDiffersWhereverItIs) {
  const std::vector<Choice> target = choices({10, 11, 12, 13, 14});
  for (size_t wrong = 0; wrong < 4; ++wrong) {
    std::vector<TokenId> draft = ids({10, 11, 12, 13});
    draft[wrong] = TokenId{99};
    const Verdict verdict = accept_greedy(draft, target);
    EXPECT_EQ(verdict.n_accepted, static_cast<int>(wrong));
    EXPECT_EQ(verdict.next, target[wrong]);  // the correction
    EXPECT_TRUE(verdict.is_finite);
  }
}

TEST(AcceptGreedy, GivesTheBonusAfterFullAcceptance) {
  const Verdict verdict = accept_greedy(ids({10, 11, 12}), choices({10, 11, 12, 13}));
  EXPECT_EQ(verdict.n_accepted, 3);
  EXPECT_EQ(verdict.next, TokenId{13});
}

TEST(AcceptGreedy, KeepsWhatCameBeforeARowWithoutAChoice) {
  for (size_t row = 0; row < 4; ++row) {
    std::vector<Choice> target = choices({10, 11, 12, 13});
    target[row] = std::nullopt;
    const Verdict verdict = accept_greedy(ids({10, 11, 12}), target);
    EXPECT_EQ(verdict.n_accepted, static_cast<int>(row));
    EXPECT_FALSE(verdict.is_finite) << row;
  }
}

TEST(AcceptGreedy, NeverLooksBeyondTheDecidingRow) {
  // Rows after the rejection follow a draft that did not happen: usable or not, agreeing or not,
  // they mean nothing.
  const std::vector<TokenId> draft = ids({10, 99, 12, 13});
  std::vector<Choice> target = choices({10, 11, 0, 0, 0});
  for (const Choice later : {Choice(TokenId{12}), Choice(TokenId{5}), Choice()}) {
    target[2] = target[3] = target[4] = later;
    const Verdict verdict = accept_greedy(draft, target);
    EXPECT_EQ(verdict.n_accepted, 1);
    EXPECT_EQ(verdict.next, TokenId{11});
    EXPECT_TRUE(verdict.is_finite);
  }
}

}  // namespace
}  // namespace slip
