#include "base/rng.h"

#include <cmath>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace slip {
namespace {

constexpr uint64_t kSeed = 20240607;
constexpr uint64_t kDraws = 100'000;

struct KnownAnswer {
  std::array<uint32_t, 4> counter;
  std::array<uint32_t, 2> key;
  std::array<uint32_t, 4> answer;
};

// The "philox4x32 10" lines of tests/kat_vectors, Random123 1.14.0.
constexpr KnownAnswer kKnownAnswers[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

TEST(Philox, GivesThePublishedAnswers) {
  for (const KnownAnswer& known : kKnownAnswers) {
    EXPECT_EQ(philox(known.counter, known.key), known.answer);
  }
}

TEST(Uniform, IsAMultipleOfTwoToTheMinus24BelowOne) {
  for (uint64_t position = 0; position < kDraws; ++position) {
    const float x = uniform(kSeed, position, Draw::kTest);
    ASSERT_GE(x, 0.0f);
    ASSERT_LT(x, 1.0f);
    ASSERT_EQ(std::ldexp(x, 24), std::floor(std::ldexp(x, 24)));
  }
}

TEST(Uniform, FillsSixteenEqualBinsEvenly) {
  std::array<int, 16> counts = {};
  for (uint64_t position = 0; position < kDraws; ++position) {
    ++counts[static_cast<size_t>(uniform(kSeed, position, Draw::kTest) * 16)];
  }
  const double expected = kDraws / 16.0;
  double chi_square = 0;
  for (const int count : counts) chi_square += (count - expected) * (count - expected) / expected;
  EXPECT_LT(chi_square, 37.7);  // 15 degrees of freedom, one run in 1000
}

TEST(Uniform, DependsOnEveryBitOfSeedAndPositionAndOnThePurpose) {
  std::set<float> values = {uniform(kSeed, 0, Draw::kTest), uniform(kSeed, 0, Draw::kWeight)};
  for (int bit = 0; bit < 64; ++bit) {
    values.insert(uniform(kSeed ^ (uint64_t{1} << bit), 0, Draw::kTest));
    values.insert(uniform(kSeed, uint64_t{1} << bit, Draw::kTest));
  }
  EXPECT_EQ(values.size(), 2u + 2u * 64u);
}

TEST(Normal, HasTheMomentsOfTheStandardNormal) {
  double sum = 0;
  double sum2 = 0;
  double sum4 = 0;
  for (uint64_t position = 0; position < kDraws; ++position) {
    const double x = normal(kSeed, position, Draw::kTest);
    sum += x;
    sum2 += x * x;
    sum4 += x * x * x * x;
  }
  const auto n = static_cast<double>(kDraws);
  // Four standard errors: 1, sqrt(2) and sqrt(96) over sqrt(n).
  EXPECT_NEAR(sum / n, 0.0, 4 * std::sqrt(1 / n));
  EXPECT_NEAR(sum2 / n, 1.0, 4 * std::sqrt(2 / n));
  EXPECT_NEAR(sum4 / n, 3.0, 4 * std::sqrt(96 / n));
}

TEST(Normal, IsUncorrelatedWithTheUniformOfTheSamePlace) {
  double sum = 0;
  for (uint64_t position = 0; position < kDraws; ++position) {
    const double centred = uniform(kSeed, position, Draw::kTest) - 0.5;
    sum += std::abs(normal(kSeed, position, Draw::kTest)) * centred;
  }
  // |normal| has mean square 1, the centred uniform variance 1/12.
  EXPECT_LT(std::abs(sum) / kDraws, 4 * std::sqrt(1.0 / 12 / kDraws));
}

TEST(FineUniform, IsAMultipleOfTwoToTheMinus53BelowOne) {
  for (uint64_t position = 0; position < kDraws; ++position) {
    const double x = fine_uniform(kSeed, position, Draw::kTest);
    ASSERT_GE(x, 0.0);
    ASSERT_LT(x, 1.0);
    ASSERT_EQ(std::ldexp(x, 53), std::floor(std::ldexp(x, 53)));
  }
}

TEST(DerivedSeed, DiffersWithEveryInput) {
  const std::set<uint64_t> seeds = {
      derived_seed(1, 1, Draw::kTest), derived_seed(2, 1, Draw::kTest),
      derived_seed(1, 2, Draw::kTest), derived_seed(1, 1, Draw::kWeight)};
  EXPECT_EQ(seeds.size(), 4u);
}

TEST(ExponentialNoise, IsTheSameInAnyOrderOfAsking) {
  ExponentialNoise forward(kSeed, 3, Draw::kTest);
  std::vector<double> values;
  for (uint32_t i = 0; i < 10; ++i) values.push_back(forward(i));
  ExponentialNoise backward(kSeed, 3, Draw::kTest);
  for (uint32_t i = 10; i-- > 0;) EXPECT_EQ(backward(i), values[i]) << i;
}

TEST(ExponentialNoise, HasTheMomentsOfTheExponential) {
  double sum = 0;
  double sum2 = 0;
  ExponentialNoise noise(kSeed, 1, Draw::kTest);
  for (uint32_t i = 0; i < kDraws; ++i) {
    const double x = noise(i);
    ASSERT_GT(x, 0.0);
    sum += x;
    sum2 += x * x;
  }
  const auto n = static_cast<double>(kDraws);
  // Four standard errors: 1 and sqrt(20) over sqrt(n).
  EXPECT_NEAR(sum / n, 1.0, 4 * std::sqrt(1 / n));
  EXPECT_NEAR(sum2 / n, 2.0, 4 * std::sqrt(20 / n));
}

}  // namespace
}  // namespace slip
