#include "sample/sampling.h"

#include <limits>

#include <gtest/gtest.h>

#include "base/testing/expect_error.h"

namespace slip {
namespace {

constexpr float kNoNumber = std::numeric_limits<float>::quiet_NaN();
constexpr int32_t kTenTokens = 10;

std::string refusal(const SamplingParams& params) {
  return test::message_of([&] { check_sampling(params, kTenTokens); });
}

TEST(CheckSampling, TakesTheDefaults) { EXPECT_NO_THROW(check_sampling({}, kTenTokens)); }

TEST(CheckSampling, TakesTheEndsOfEveryRange) {
  EXPECT_NO_THROW(
      check_sampling({.shape = {.temperature = 100, .top_p = 1, .top_k = 1 << 30, .min_p = 1},
                      .penalties = {.presence = -2, .frequency = 2, .repetition = 10},
                      .logit_bias = {{TokenId{9}, -100}, {TokenId{0}, 100}}},
                     kTenTokens));
}

TEST(CheckSampling, NamesTheFieldTheValueAndTheRange) {
  EXPECT_EQ(refusal({.shape = {.temperature = -0.5f}}),
            "temperature: found -0.5, wanted at least 0 and at most 100");
  EXPECT_EQ(refusal({.shape = {.top_p = 0}}), "top_p: found 0, wanted more than 0 and at most 1");
  EXPECT_EQ(refusal({.shape = {.top_k = -1}}), "top_k: found -1, wanted 0 (no limit) or more");
  EXPECT_EQ(refusal({.shape = {.min_p = 1.5f}}),
            "min_p: found 1.5, wanted at least 0 and at most 1");
  EXPECT_EQ(refusal({.penalties = {.presence = 3}}),
            "presence_penalty: found 3, wanted at least -2 and at most 2");
  EXPECT_EQ(refusal({.penalties = {.frequency = -3}}),
            "frequency_penalty: found -3, wanted at least -2 and at most 2");
  EXPECT_EQ(refusal({.penalties = {.repetition = 0}}),
            "repetition_penalty: found 0, wanted more than 0 and at most 10");
}

TEST(CheckSampling, RefusesWhatIsNoNumber) {
  EXPECT_EQ(refusal({.shape = {.temperature = kNoNumber}}),
            "temperature: found nan, wanted at least 0 and at most 100");
}

TEST(CheckSampling, RefusesABiasOfATokenThatDoesNotExist) {
  EXPECT_EQ(refusal({.logit_bias = {{TokenId{10}, 1}}}),
            "logit_bias: found token 10, wanted ids below 10");
  EXPECT_EQ(refusal({.logit_bias = {{TokenId{-1}, 1}}}),
            "logit_bias: found token -1, wanted ids below 10");
}

TEST(CheckSampling, RefusesTwoBiasesOfOneToken) {
  EXPECT_EQ(refusal({.logit_bias = {{TokenId{4}, 1}, {TokenId{2}, 1}, {TokenId{4}, 1}}}),
            "logit_bias: found token 4 twice, wanted it once");
}

TEST(CheckSampling, RefusesMoreBiasesThanAreTaken) {
  EXPECT_EQ(refusal({.logit_bias = std::vector<LogitBias>(kLogitBiasMax + 1)}),
            "logit_bias: found 1025 tokens, wanted at most 1024");
}

}  // namespace
}  // namespace slip
