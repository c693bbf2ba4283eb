#include "sample/distribution.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace slip {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

// The natural logarithms of these weights: at temperature 1 they are the probabilities again.
std::vector<float> logs(std::initializer_list<double> weights) {
  std::vector<float> logits;
  for (const double weight : weights) logits.push_back(static_cast<float>(std::log(weight)));
  return logits;
}

std::vector<int32_t> kept(const std::vector<float>& logits, const Shape& shape) {
  Distribution distribution(static_cast<int32_t>(logits.size()));
  EXPECT_TRUE(distribution.assign(logits, shape));
  std::vector<int32_t> ids;
  for (const TokenProbability& token : distribution.tokens())
    ids.push_back(static_cast<int32_t>(token.id));
  return ids;
}

using Ids = std::vector<int32_t>;

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

TEST(TopProbability, IsThatOfTheLikeliestToken) {
  EXPECT_NEAR(top_probability(logs({0.1, 0.6, 0.3})), 0.6, 1e-6);
  EXPECT_NEAR(top_probability(logs({5, 2, 1})), 5.0 / 8, 1e-6);
}

TEST(TopProbability, IsOneWhereOtherTokensAreMasked) {
  EXPECT_EQ(top_probability(std::vector{-kInf, 3.0f, -kInf}), 1);
}

TEST(TopProbability, IsZeroWhereThereIsNoMaximum) {
  EXPECT_EQ(top_probability(std::vector{0.0f, kNan}), 0);
  EXPECT_EQ(top_probability(std::vector{-kInf, -kInf}), 0);
}

TEST(TopProbability, MissesLessThanAThousandthOfTheUnlikely) {
  std::vector<float> logits(250'000, -20.01f);
  logits[7] = 0;
  EXPECT_NEAR(top_probability(logits), 1 / (1 + 249'999 * std::exp(-20.01)), 1e-3);
}

TEST(Distribution, IsTheSoftmaxAtTheTemperature) {
  Distribution distribution(3);
  ASSERT_TRUE(distribution.assign(std::vector<float>{1.0f, 2.0f, 4.0f}, {.temperature = 2}));
  const double total = std::exp(0.5) + std::exp(1.0) + std::exp(2.0);
  EXPECT_NEAR(distribution.probability(TokenId{0}), std::exp(0.5) / total, 1e-15);
  EXPECT_NEAR(distribution.probability(TokenId{2}), std::exp(2.0) / total, 1e-15);
}

TEST(Distribution, OfTemperatureZeroIsTheLikeliestTokenAlone) {
  EXPECT_EQ(kept(logs({0.3, 0.5, 0.2}), {.temperature = 0}), Ids{1});
}

TEST(Distribution, KeepsTheTopK) {
  EXPECT_EQ(kept(logs({0.1, 0.4, 0.2, 0.3}), {.temperature = 1, .top_k = 2}), (Ids{1, 3}));
}

TEST(Distribution, KeepsTokensBeforeWhichLessThanTopPLies) {
  const auto logits = logs({0.1, 0.4, 0.2, 0.3});
  EXPECT_EQ(kept(logits, {.temperature = 1, .top_p = 0.39f}), (Ids{1}));
  EXPECT_EQ(kept(logits, {.temperature = 1, .top_p = 0.41f}), (Ids{1, 3}));
  EXPECT_EQ(kept(logits, {.temperature = 1, .top_p = 0.71f}), (Ids{1, 3, 2}));
}

// Measured on the top 2 alone, 0.55 would leave the first token only.
TEST(Distribution, MeasuresTopPOnTheWholeVocabulary) {
  EXPECT_EQ(kept(logs({0.1, 0.4, 0.2, 0.3}), {.temperature = 1, .top_p = 0.55f, .top_k = 2}),
            (Ids{1, 3}));
}

TEST(Distribution, KeepsTokensAtLeastMinPAsLikelyAsTheLikeliest) {
  const auto logits = logs({0.1, 0.4, 0.2, 0.3});
  EXPECT_EQ(kept(logits, {.temperature = 1, .min_p = 0.49f}), (Ids{1, 3, 2}));
  EXPECT_EQ(kept(logits, {.temperature = 1, .min_p = 0.51f}), (Ids{1, 3}));
}

TEST(Distribution, BreaksTiesById) {
  EXPECT_EQ(kept(std::vector<float>(5, 1.5f), {.temperature = 1, .top_k = 3}), (Ids{0, 1, 2}));
}

TEST(Distribution, ReachesTopPWithExactlySoMuch) {
  EXPECT_EQ(kept({0, 0}, {.temperature = 1, .top_p = 0.5f}), Ids{0});
}

TEST(Distribution, KeepsTokensExactlyMinPAsLikely) {
  EXPECT_EQ(kept({0, 0, -1}, {.temperature = 1, .min_p = 1}), (Ids{0, 1}));
}

// Added to the likeliest they are nothing, so that its share alone rounds to 1.
TEST(Distribution, OfTopPOneLosesNoTokenToRounding) {
  EXPECT_EQ(kept({0, -40, -40}, {.temperature = 1, .top_k = 3}), (Ids{0, 1, 2}));
}

// The definition: everything in order, up to the first limit.
Ids kept_by_definition(const std::vector<float>& logits, const Shape& shape) {
  const float largest = *std::ranges::max_element(logits);
  const auto weight = [&](int32_t id) {
    return std::exp((static_cast<double>(logits[static_cast<size_t>(id)]) - largest) /
                    shape.temperature);
  };
  Ids order(logits.size());
  double total = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    order[i] = static_cast<int32_t>(i);
    total += weight(order[i]);
  }
  std::ranges::stable_sort(order, [&](int32_t a, int32_t b) { return weight(a) > weight(b); });
  size_t n = 0;
  for (double before = 0; n < order.size(); before += weight(order[n++])) {
    const bool is_over = (shape.top_k > 0 && n == static_cast<size_t>(shape.top_k)) ||
                         (shape.top_p < 1 && before >= shape.top_p * total) ||
                         weight(order[n]) < shape.min_p;
    if (n > 0 && is_over) break;
  }
  order.resize(n);
  return order;
}

// Weights from 1 down to e^-30, so that limits fall on both sides of every shortcut.
TEST(Distribution, KeepsWhatTheDefinitionKeeps) {
  std::vector<float> logits;
  for (int i = 0; i < 60; ++i) logits.push_back(-0.5f * static_cast<float>((i * 37) % 60));
  for (int32_t top_k = 0; top_k <= 60; ++top_k) {
    for (const float top_p : {1.0f, 0.9999999f, 0.999f, 0.9f, 0.5f}) {
      for (const float min_p : {0.0f, 1e-9f, 1e-7f, 1e-4f, 1e-3f, 0.02f, 0.3f}) {
        const Shape shape{.temperature = 1, .top_p = top_p, .top_k = top_k, .min_p = min_p};
        if (!shape.truncates()) continue;
        EXPECT_EQ(kept(logits, shape), kept_by_definition(logits, shape))
            << "top-k " << top_k << ", top-p " << top_p << ", min-p " << min_p;
      }
    }
  }
}

TEST(Distribution, AlwaysKeepsTheLikeliest) {
  EXPECT_EQ(kept(logs({0.4, 0.6}), {.temperature = 1, .top_p = 1e-6f, .top_k = 5, .min_p = 1}),
            Ids{1});
}

TEST(Distribution, HasTheEntropyOfWhatIsPossible) {
  Distribution distribution(3);
  ASSERT_TRUE(distribution.assign(std::vector<float>{1, 1, -kInf}, {.temperature = 1}));
  EXPECT_NEAR(distribution.entropy(), std::log(2.0), 1e-15);
}

TEST(Distribution, OfKeptTokensSumsToOne) {
  Distribution distribution(4);
  ASSERT_TRUE(distribution.assign(logs({0.1, 0.4, 0.2, 0.3}), {.temperature = 1, .top_k = 3}));
  double sum = 0;
  for (const TokenProbability& token : distribution.tokens()) sum += token.p;
  EXPECT_NEAR(sum, 1, 1e-15);
  EXPECT_EQ(distribution.probability(TokenId{0}), 0);
}

// Wide vocabularies are not sorted whole; the flat one needs every token.
TEST(Distribution, CutsAWideVocabularyAsSortingAllOfItWould) {
  for (const float spread : {0.0f, 0.01f, 1.0f, 8.0f}) {
    std::vector<float> logits;
    for (uint64_t i = 0; i < 5000; ++i) logits.push_back(spread * normal(4, i, Draw::kTest));
    std::vector<std::pair<double, int32_t>> order;  // weight falling, id rising
    const double largest = *std::ranges::max_element(logits);
    double total = 0;
    for (size_t i = 0; i < logits.size(); ++i) {
      order.emplace_back(-std::exp(logits[i] - largest), static_cast<int32_t>(i));
      total -= order.back().first;
    }
    std::ranges::sort(order);
    for (const float top_p : {0.1f, 0.7f, 0.95f}) {
      Ids wanted;
      double before = 0;
      for (const auto& [weight, id] : order) {
        if (before >= top_p * total) break;
        wanted.push_back(id);
        before -= weight;
      }
      EXPECT_EQ(kept(logits, {.temperature = 1, .top_p = top_p}), wanted) << spread << " " << top_p;
    }
  }
}

TEST(Distribution, RefusesARowThatIsNotUsable) {
  Distribution distribution(2);
  EXPECT_FALSE(distribution.assign(std::vector<float>{0.0f, kNan}, {.temperature = 1}));
  EXPECT_TRUE(distribution.tokens().empty());
}

TEST(Distribution, GivesMaskedTokensNothing) {
  Distribution distribution(3);
  ASSERT_TRUE(distribution.assign(std::vector<float>{0.0f, -kInf, 0.0f}, {.temperature = 1}));
  EXPECT_EQ(distribution.probability(TokenId{1}), 0);
  EXPECT_EQ(distribution.probability(TokenId{2}), 0.5);
}

TEST(Race, WinsAsOftenAsTheWeightSays) {
  const TokenProbability tokens[] = {{TokenId{7}, 1.0}, {TokenId{2}, 3.0}, {TokenId{9}, 0.0}};
  int n_first = 0;
  constexpr int kRounds = 20'000;
  for (uint64_t position = 0; position < kRounds; ++position) {
    const auto winner = race(tokens, ExponentialNoise(1, position, Draw::kTest),
                             [](const TokenProbability& t) { return t.p; });
    ASSERT_NE(winner, TokenId{9});
    n_first += winner == TokenId{7};
  }
  EXPECT_NEAR(n_first, kRounds / 4.0, 5 * std::sqrt(kRounds * 0.25 * 0.75));
}

TEST(Race, OfNoWeightGivesNothing) {
  const TokenProbability tokens[] = {{TokenId{7}, 1.0}};
  EXPECT_FALSE(race(tokens, ExponentialNoise(1, 1, Draw::kTest),
                    [](const TokenProbability&) { return 0.0; }));
}

TEST(AdjustLogits, AddsTheBias) {
  std::vector<float> logits = {1, 2, 3};
  adjust_logits(logits, {.logit_bias = {{TokenId{1}, -5}}}, nullptr, {});
  EXPECT_EQ(logits, (std::vector<float>{1, -3, 3}));
}

TEST(AdjustLogits, CountsPresenceOnceAndFrequencyEveryTimeInTheAnswerOnly) {
  TokenCounts counts(4);
  counts.add_prompt(std::vector{TokenId{0}});
  counts.add_answer(TokenId{1});
  counts.add_answer(TokenId{2});
  counts.add_answer(TokenId{2});
  std::vector<float> logits(4, 1.0f);
  adjust_logits(logits, {.penalties = {.presence = 0.5f, .frequency = 0.25f}}, &counts, {});
  EXPECT_EQ(logits, (std::vector<float>{1, 0.25f, 0, 1}));
}

TEST(AdjustLogits, RepetitionPushesTokensOfPromptAndAnswerDownWhateverTheirSign) {
  TokenCounts counts(4);
  counts.add_prompt(std::vector{TokenId{0}});
  counts.add_answer(TokenId{1});
  std::vector<float> logits = {4, -4, 4, -4};
  adjust_logits(logits, {.penalties = {.repetition = 2}}, &counts, {});
  EXPECT_EQ(logits, (std::vector<float>{2, -8, 4, -4}));
}

TEST(AdjustLogits, CountsDraftsBeforeTheRowAsAnswer) {
  TokenCounts drafted(5);
  drafted.add_answer(TokenId{1});
  TokenCounts answered = drafted;
  const TokenId drafts[] = {TokenId{2}, TokenId{1}, TokenId{2}};
  for (const TokenId token : drafts) answered.add_answer(token);
  const SamplingParams params{
      .penalties = {.presence = 0.5f, .frequency = 0.1f, .repetition = 1.3f}};
  std::vector<float> found = {1, 2, 3, 4, 5};
  std::vector<float> wanted = found;
  adjust_logits(found, params, &drafted, drafts);
  adjust_logits(wanted, params, &answered, {});
  EXPECT_EQ(found, wanted);
}

}  // namespace
}  // namespace slip
