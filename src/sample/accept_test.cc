#include "sample/accept.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace slip {
namespace {

constexpr float kNoLogit = std::numeric_limits<float>::quiet_NaN();
constexpr int32_t kSixTokens = 6;

std::vector<TokenId> ids(std::initializer_list<int32_t> values) {
  std::vector<TokenId> out;
  for (const int32_t value : values) out.push_back(TokenId{value});
  return out;
}

RowChoice kept() { return {.keeps_draft = true}; }
RowChoice replaced(int32_t token) { return {.keeps_draft = false, .next = TokenId{token}}; }

// Logits whose maximum is at `token`; the others are different and finite.
std::vector<float> peaked(int32_t token) {
  std::vector<float> logits;
  for (int32_t i = 0; i < kSixTokens; ++i)
    logits.push_back(i == token ? 3.0f : -0.3f * static_cast<float>(i));
  return logits;
}

std::vector<float> rows_of(std::initializer_list<int32_t> tokens) {
  std::vector<float> logits;
  for (const int32_t token : tokens) {
    const std::vector<float> row = peaked(token);
    logits.insert(logits.end(), row.begin(), row.end());
  }
  return logits;
}

Verdict accept_all(const std::vector<float>& logits, const std::vector<TokenId>& drafts,
                   const SequenceSampling* maybe_sampling, std::span<const DraftLaw> laws = {}) {
  RowSampler sampler(kSixTokens);
  std::vector<RowChoice> rows;
  return accept(sampler, logits,
                {.maybe_sampling = maybe_sampling, .position = 9, .drafts = drafts, .laws = laws},
                rows);
}

TEST(AcceptRows, WithoutDraftsTheOneRowDecides) {
  const RowChoice rows[] = {replaced(7)};
  EXPECT_EQ(accept(rows).n_accepted, 0);
  EXPECT_EQ(accept(rows).next, TokenId{7});
}

TEST(AcceptRows, StopAtTheFirstThatReplacesItsDraft) {
  const RowChoice rows[] = {kept(), kept(), replaced(3), kept(), replaced(5)};
  EXPECT_EQ(accept(rows).n_accepted, 2);
  EXPECT_EQ(accept(rows).next, TokenId{3});
}

TEST(AcceptRows, AllKeptLeaveTheLastRowToAddAToken) {
  const RowChoice rows[] = {kept(), kept(), replaced(5)};
  EXPECT_EQ(accept(rows).n_accepted, 2);
  EXPECT_EQ(accept(rows).next, TokenId{5});
}

TEST(AcceptRows, RowThatIsNotFiniteCountsWhereItDecides) {
  const RowChoice rows[] = {kept(), {.is_finite = false}, replaced(1)};
  EXPECT_EQ(accept(rows).n_accepted, 1);
  EXPECT_FALSE(accept(rows).is_finite);
}

TEST(AcceptRows, RowThatIsNotFiniteBehindTheDecidingOneIsNotLookedAt) {
  const RowChoice rows[] = {replaced(1), {.is_finite = false}};
  EXPECT_TRUE(accept(rows).is_finite);
}

TEST(AcceptGreedy, KeepsDraftsWhileTheyAreTheLikeliestTokens) {
  const Verdict verdict = accept_all(rows_of({4, 2, 1, 3}), ids({4, 2, 5}), nullptr);
  EXPECT_EQ(verdict.n_accepted, 2);
  EXPECT_EQ(verdict.next, TokenId{1});
}

TEST(AcceptGreedy, EqualsTemperatureZero) {
  const SamplingParams params;
  for (const Coupling coupling : {Coupling::kSeeded, Coupling::kRejection}) {
    const SequenceSampling sampling{.params = &params, .coupling = coupling};
    for (const auto& drafts : {ids({4, 2, 1}), ids({4, 2, 5}), ids({0, 2, 1})}) {
      const Verdict wanted = accept_all(rows_of({4, 2, 1, 3}), drafts, nullptr);
      const Verdict found = accept_all(rows_of({4, 2, 1, 3}), drafts, &sampling);
      EXPECT_EQ(found.n_accepted, wanted.n_accepted);
      EXPECT_EQ(found.next, wanted.next);
    }
  }
}

TEST(AcceptSeeded, KeepsADraftIfAndOnlyIfTheRowAloneWouldDrawIt) {
  const SamplingParams params{.shape = {.temperature = 2}};
  const std::vector<float> logits = rows_of({1, 1});
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const SequenceSampling sampling{.params = &params, .seed = seed};
    const TokenId drawn = accept_all(peaked(1), {}, &sampling).next;
    for (int32_t draft = 0; draft < kSixTokens; ++draft) {
      const Verdict verdict = accept_all(logits, ids({draft}), &sampling);
      EXPECT_EQ(verdict.n_accepted == 1, TokenId{draft} == drawn);
      if (verdict.n_accepted == 0) {
        EXPECT_EQ(verdict.next, drawn);
      }
    }
  }
}

// What a step of several rows gives, token by token from the same logits.
TEST(AcceptSeeded, RowsDrawWhatTheyWouldDrawInStepsOfTheirOwn) {
  const SamplingParams params{.shape = {.temperature = 3}};
  RowSampler sampler(kSixTokens);
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const SequenceSampling sampling{.params = &params, .seed = seed};
    std::vector<TokenId> alone;
    for (int32_t i = 0; i < 3; ++i) {
      const RowQuery query{.maybe_sampling = &sampling, .position = 9 + i};
      alone.push_back(sampler.choose(peaked(2), query).next);
    }
    const Verdict verdict = accept_all(rows_of({2, 2, 2}), {alone[0], alone[1]}, &sampling);
    EXPECT_EQ(verdict.n_accepted, 2);
    EXPECT_EQ(verdict.next, alone[2]);
  }
}

// Typical acceptance keeps likely drafts whatever the row would have drawn.
TEST(AcceptSeeded, LossyRulesDoNotCompareTokens) {
  const SamplingParams params{.shape = {.temperature = 1}, .rule = AcceptRule::kTypical};
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const SequenceSampling sampling{.params = &params, .seed = seed};
    EXPECT_EQ(accept_all(rows_of({1, 1}), ids({1}), &sampling).n_accepted, 1);
  }
}

TEST(AcceptBlock, LeavesComparedTokensToTheRows) {
  SamplingParams params{.shape = {.temperature = 1}, .rule = AcceptRule::kBlock};
  const SequenceSampling seeded{.params = &params, .coupling = Coupling::kSeeded};
  const SequenceSampling rejecting{.params = &params, .coupling = Coupling::kRejection};
  EXPECT_FALSE(judges_blocks(&seeded));
  EXPECT_TRUE(judges_blocks(&rejecting));
  params.shape.temperature = 0;
  EXPECT_FALSE(judges_blocks(&rejecting));
}

TEST(DraftOfASampler, LeavesNoOldLawBehind) {
  RowSampler sampler(kSixTokens);
  const SamplingParams params{.shape = {.temperature = 1}};
  const SequenceSampling seeded{.params = &params, .coupling = Coupling::kSeeded};
  for (const SequenceSampling* maybe_sampling :
       {static_cast<const SequenceSampling*>(nullptr), &seeded}) {
    DraftLaw law{.n_tokens = 3};
    sampler.draft(peaked(2), {.maybe_sampling = maybe_sampling, .position = 9}, &law);
    EXPECT_EQ(law.n_tokens, 0);
  }
}

TEST(AcceptSeeded, DraftOfTheSameLogitsIsTheTokenThatTheTargetDraws) {
  const SamplingParams params{.shape = {.temperature = 1.5f, .top_k = 4}};
  RowSampler sampler(kSixTokens);
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const SequenceSampling sampling{.params = &params, .seed = seed};
    const RowQuery query{.maybe_sampling = &sampling, .position = 9};
    EXPECT_EQ(sampler.draft(peaked(2), query, nullptr), sampler.choose(peaked(2), query).next);
  }
}

TEST(AcceptRejection, DrawsAnewInEveryStep) {
  const SamplingParams params{.shape = {.temperature = 50}};
  const SequenceSampling sampling{.params = &params, .seed = 3, .coupling = Coupling::kRejection};
  RowSampler sampler(kSixTokens);
  int n_different = 0;
  for (int32_t position = 0; position < 40; ++position) {
    const auto at = [&](int32_t n_before) {
      const auto drafts = ids({0, 0});
      return sampler
          .choose(peaked(2), {.maybe_sampling = &sampling,
                              .position = position,
                              .n_before = n_before,
                              .drafts = std::span(drafts).first(static_cast<size_t>(n_before))})
          .next;
    };
    n_different += at(0) != at(2);
  }
  EXPECT_GT(n_different, 20);  // 5 of 6 tokens differ by chance
}

TEST(AcceptRejection, LawWithoutEntriesIsACertainDraft) {
  const SamplingParams params{.shape = {.temperature = 1}};
  const SequenceSampling sampling{.params = &params, .seed = 8, .coupling = Coupling::kRejection};
  const std::vector<DraftLaw> laws(2);
  for (int32_t draft = 0; draft < kSixTokens; ++draft) {
    const auto drafts = ids({draft, 1});
    const Verdict with = accept_all(rows_of({1, 2, 3}), drafts, &sampling, laws);
    const Verdict without = accept_all(rows_of({1, 2, 3}), drafts, &sampling);
    EXPECT_EQ(with.n_accepted, without.n_accepted);
    EXPECT_EQ(with.next, without.next);
  }
}

TEST(AcceptRejection, DraftThatTheTargetExcludesIsNeverKept) {
  const SamplingParams params{.shape = {.temperature = 1, .top_k = 2}};
  for (const AcceptRule rule : {AcceptRule::kExact, AcceptRule::kBlock, AcceptRule::kTypical}) {
    SamplingParams ruled = params;
    ruled.rule = rule;
    for (uint64_t seed = 0; seed < 200; ++seed) {
      const SequenceSampling sampling{
          .params = &ruled, .seed = seed, .coupling = Coupling::kRejection};
      EXPECT_EQ(accept_all(rows_of({1, 1}), ids({5}), &sampling).n_accepted, 0);
    }
  }
}

std::vector<float> logits_of(std::initializer_list<double> law) {
  std::vector<float> logits;
  for (const double p : law) logits.push_back(static_cast<float>(std::log(p)));
  return logits;
}

// Two drafts of a head that is far off, judged together; where they end early, a step of its own
// draws what is missing. The first two tokens, over many seeds, against what the target says.
TEST(AcceptBlock, GivesTheLawOfTheTargetToTokensAndPairs) {
  constexpr int kRounds = 60'000;
  constexpr size_t kTokens = 3;
  const double target[2][kTokens] = {{0.5, 0.3, 0.2}, {0.15, 0.25, 0.6}};
  const std::vector<float> heads[] = {logits_of({0.2, 0.2, 0.6}), logits_of({0.02, 0.08, 0.9})};
  const std::vector<float> rows[] = {logits_of({0.5, 0.3, 0.2}), logits_of({0.15, 0.25, 0.6})};
  std::vector<float> logits;
  for (const size_t row : {0u, 1u, 0u})
    logits.insert(logits.end(), rows[row].begin(), rows[row].end());
  const SamplingParams params{.shape = {.temperature = 1}, .rule = AcceptRule::kBlock};
  RowSampler sampler(kTokens);
  double counts[kTokens][kTokens] = {};
  for (uint64_t seed = 0; seed < kRounds; ++seed) {
    const SequenceSampling sampling{
        .params = &params, .seed = seed, .coupling = Coupling::kRejection};
    std::vector<TokenId> drafts;
    std::vector<DraftLaw> laws(2);
    for (int32_t i = 0; i < 2; ++i) {
      const auto at = static_cast<size_t>(i);
      const RowQuery query{
          .maybe_sampling = &sampling, .position = 9 + i, .n_before = i, .drafts = drafts};
      drafts.push_back(sampler.draft(heads[at], query, &laws[at]).value());
    }
    const Verdict verdict = sampler.accept_block(
        logits, {.maybe_sampling = &sampling, .position = 9, .drafts = drafts, .laws = laws});
    std::vector<TokenId> text(drafts.begin(), drafts.begin() + verdict.n_accepted);
    text.push_back(verdict.next);
    if (text.size() < 2)
      text.push_back(sampler.choose(rows[1], {.maybe_sampling = &sampling, .position = 10}).next);
    ++counts[index(text[0])][index(text[1])];
  }
  double chi_square = 0;
  for (size_t a = 0; a < kTokens; ++a) {
    for (size_t b = 0; b < kTokens; ++b) {
      const double wanted = kRounds * target[0][a] * target[1][b];
      chi_square += (counts[a][b] - wanted) * (counts[a][b] - wanted) / wanted;
    }
  }
  EXPECT_LT(chi_square, 26.1);  // 8 degrees of freedom: one in a thousand sets of seeds
}

TEST(AcceptBlock, RefusesARowThatIsNotFinite) {
  const SamplingParams params{.shape = {.temperature = 1}, .rule = AcceptRule::kBlock};
  const SequenceSampling sampling{.params = &params, .seed = 8, .coupling = Coupling::kRejection};
  std::vector<float> logits = rows_of({1, 2});
  logits[2] = kNoLogit;
  EXPECT_FALSE(accept_all(logits, ids({1}), &sampling).is_finite);
}

// Of a draft of probability `p` beside `n_others` tokens that share the rest.
double typical_keep(double p, int32_t n_others) {
  std::vector<float> logits(static_cast<size_t>(n_others) + 1,
                            static_cast<float>(std::log((1 - p) / n_others)));
  logits[0] = static_cast<float>(std::log(p));
  Distribution target(n_others + 1);
  EXPECT_TRUE(target.assign(logits, {.temperature = 1}));
  return keep_probability(target, nullptr, TokenId{0}, AcceptRule::kTypical);
}

// A sure target: 0.09. An unsure one: 0.3 e^-H, here 0.039.
TEST(KeepProbability, OfTypicalAcceptanceHasTwoThresholds) {
  EXPECT_EQ(typical_keep(0.08, 1), 0);
  EXPECT_EQ(typical_keep(0.10, 1), 1);
  EXPECT_EQ(typical_keep(0.03, 7), 0);
  EXPECT_EQ(typical_keep(0.05, 7), 1);
}

TEST(KeepProbability, OfTypicalAcceptanceAsksHowSureTheTargetIs) {
  Distribution sure(2);
  ASSERT_TRUE(sure.assign(std::vector<float>{0.0f, 4.0f}, {.temperature = 1}));
  EXPECT_EQ(keep_probability(sure, nullptr, TokenId{0}, AcceptRule::kTypical), 0);
  Distribution unsure(64);
  ASSERT_TRUE(unsure.assign(std::vector<float>(64, 0.0f), {.temperature = 1}));
  EXPECT_EQ(keep_probability(unsure, nullptr, TokenId{0}, AcceptRule::kTypical), 1);
}

TEST(KeepProbability, OfCascadesAsksTheExactTestOfUnlikelyDraftsOnly) {
  Distribution target(3);
  ASSERT_TRUE(target.assign(std::vector<float>{2.0f, 1.6f, 0.0f}, {.temperature = 1}));
  EXPECT_EQ(keep_probability(target, nullptr, TokenId{1}, AcceptRule::kCascade), 1);
  EXPECT_EQ(keep_probability(target, nullptr, TokenId{2}, AcceptRule::kCascade),
            target.probability(TokenId{2}));
}

}  // namespace
}  // namespace slip
