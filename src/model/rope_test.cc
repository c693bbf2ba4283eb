#include "model/rope.h"

#include <string>

#include <gtest/gtest.h>

#include "base/testing/expect_error.h"

namespace slip {
namespace {

Rope parse(const char* text, int32_t head_dim, double partial = 1) {
  const nlohmann::json object = nlohmann::json::parse(text);
  return parse_rope(ConfigReader(object, "config.json"), head_dim, partial, 10000);
}

std::string message_of(const char* text) {
  return test::message_of([&] { parse(text, 16); });
}

// Within the rounding of a float division and product.
void expect_frequencies(const Rope& rope, const std::vector<float>& wanted) {
  ASSERT_EQ(rope.frequencies.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i)
    EXPECT_NEAR(rope.frequencies[i] / wanted[i], 1, 4e-7) << i;
}

constexpr const char* kLlama3 =
    R"({"rope_parameters": {"rope_type": "llama3", "rope_theta": 500000.0,
  "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}})";

TEST(ParseRope, TakesTheOuterKeysWhereTheNestedOnesAreAbsent) {
  const Rope rope = parse(R"({"rope_theta": 100.0, "partial_rotary_factor": 0.25})", 16);
  expect_frequencies(rope, {1, 0.1f});
  EXPECT_EQ(rope.magnitude, 1);
}

TEST(ParseRope, LetsTheNestedKeysWin) {
  const Rope rope = parse(R"({"rope_theta": 100.0, "partial_rotary_factor": 0.25,
                              "rope_parameters": {"rope_theta": 16.0, "partial_rotary_factor": 0.5}})",
                          8);
  expect_frequencies(rope, {1, 0.25f});
}

// Numbers of transformers 5.24, ROPE_INIT_FUNCTIONS["llama3"], for the same keys.
TEST(ParseRope, ScalesAsLlama3Does) {
  const Rope rope = parse(kLlama3, 16);
  expect_frequencies(rope, {1.0f, 0.193922758f, 0.0376060307f, 0.00729266508f, 0.000524846022f,
                            3.42810235e-05f, 6.64786967e-06f, 1.28917316e-06f});
  EXPECT_EQ(rope.magnitude, 1);
}

// Numbers of transformers 5.24, ROPE_INIT_FUNCTIONS["yarn"].
TEST(ParseRope, ScalesAsYarnDoes) {
  const Rope rope =
      parse(R"({"rope_parameters": {"rope_type": "yarn", "rope_theta": 1000000.0, "factor": 4.0,
                "original_max_position_embeddings": 32768}})",
            32);
  expect_frequencies(
      rope, {1.0f, 0.421696514f, 0.177827939f, 0.0749894157f, 0.0316227786f, 0.0133352149f,
             0.00477990136f, 0.00165996165f, 0.000549999997f, 0.000168678584f, 4.44569851e-05f,
             1.87473561e-05f, 7.90569356e-06f, 3.33380353e-06f, 1.40585337e-06f, 5.92843435e-07f});
  EXPECT_FLOAT_EQ(rope.magnitude, 1.13862944f);
}

TEST(ParseRope, FollowsEveryOptionOfYarn) {
  const Rope rope =
      parse(R"({"rope_parameters": {"rope_type": "yarn", "rope_theta": 1000000.0, "factor": 4.0,
                "original_max_position_embeddings": 32768, "beta_fast": 16, "beta_slow": 2,
                "truncate": false, "attention_factor": 1.5}})",
            32);
  EXPECT_NEAR(rope.frequencies[6] / 0.00562341325f, 1, 4e-7);
  EXPECT_NEAR(rope.frequencies[7] / 0.00215109834f, 1, 4e-7);
  EXPECT_NEAR(rope.frequencies[9] / 0.000119866876f, 1, 4e-7);
  EXPECT_EQ(rope.magnitude, 1.5f);
}

TEST(ParseRope, DividesTheMagnitudesOfYarnWhereBothAreGiven) {
  const Rope rope =
      parse(R"({"rope_parameters": {"rope_type": "yarn", "rope_theta": 1000000.0, "factor": 4.0,
                "original_max_position_embeddings": 32768, "mscale": 2, "mscale_all_dim": 1}})",
            32);
  EXPECT_FLOAT_EQ(rope.magnitude, 1.27725887f / 1.13862944f);
}

TEST(ParseRope, ReadsTheOlderKeyWithTheOlderSpelling) {
  const Rope rope =
      parse(R"({"rope_theta": 500000.0, "rope_scaling": {"type": "llama3", "factor": 8.0,
                "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}})",
            16);
  EXPECT_EQ(rope.frequencies, parse(kLlama3, 16).frequencies);
}

TEST(ParseRope, RefusesWhatItDoesNotKnowByName) {
  EXPECT_EQ(message_of(R"({"rope_parameters": {"rope_type": "longrope"}})"),
            "config.json.rope_parameters.rope_type: found \"longrope\", wanted \"default\" or "
            "\"llama3\" or \"yarn\"");
  EXPECT_EQ(message_of(R"({"rope_scaling": {"rope_type": "yarn", "factor": 2}})"),
            "config.json.max_position_embeddings: found nothing, wanted a number in [1.000000, "
            "1073741824.000000]");
  EXPECT_EQ(message_of(R"({"partial_rotary_factor": 0.2})"),
            "config.json.partial_rotary_factor: found 0.2, wanted an even number of rotated dims");
}

}  // namespace
}  // namespace slip
