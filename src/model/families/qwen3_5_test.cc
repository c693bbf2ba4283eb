#include "model/families/qwen3_5.h"

#include <gtest/gtest.h>

#include "base/testing/expect_error.h"

namespace slip {
namespace {

nlohmann::json text_config() {
  return nlohmann::json::parse(R"({
    "vocab_size": 100, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 8,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32, "max_position_embeddings": 1000,
    "linear_num_key_heads": 2, "linear_num_value_heads": 6, "linear_key_head_dim": 32, "linear_value_head_dim": 64,
    "partial_rotary_factor": 0.5, "rope_parameters": {"rope_type": "default", "rope_theta": 5000.0, "partial_rotary_factor": 0.25}})");
}

nlohmann::json nested(const nlohmann::json& text) {
  return {{"model_type", "qwen3_5"}, {"text_config", text}};
}

std::string qwen3_5_refusal(const nlohmann::json& text) {
  return test::message_of([&] { qwen3_5::parse_config(nested(text)); });
}

TEST(Qwen35Config, ReadsNestedAndFlatConfigurationsAlike) {
  const ModelConfig from_nested = qwen3_5::parse_config(nested(text_config()));
  const ModelConfig from_flat = qwen3_5::parse_config(text_config());
  EXPECT_EQ(from_nested.hidden_size, 64);
  EXPECT_EQ(from_flat.hidden_size, 64);
}

TEST(Qwen35Config, MakesEveryFourthLayerAttentionWhereLayerTypesAreAbsent) {
  const ModelConfig config = qwen3_5::parse_config(nested(text_config()));
  EXPECT_EQ(config.layers[2].mixer, MixerKind::kDeltaNet);
  EXPECT_EQ(config.layers[3].mixer, MixerKind::kAttention);
  EXPECT_EQ(config.n_layers(MixerKind::kAttention), 2);
}

TEST(Qwen35Config, FollowsLayerTypesWhereTheyAreGiven) {
  nlohmann::json text = text_config();
  text["num_hidden_layers"] = 2;
  text["layer_types"] = {"full_attention", "linear_attention"};
  EXPECT_EQ(qwen3_5::parse_config(nested(text)).layers[0].mixer, MixerKind::kAttention);
}

TEST(Qwen35Config, PrefersTheNestedRotaryFactor) {
  EXPECT_EQ(qwen3_5::parse_config(nested(text_config())).attention.rotary_dims(), 8);
}

TEST(Qwen35Config, DerivesTheWidthsOfTheDeltaNet) {
  const DeltaNetConfig d = qwen3_5::parse_config(nested(text_config())).delta_net;
  EXPECT_EQ(d.key_width(), 64);
  EXPECT_EQ(d.value_width(), 384);
  EXPECT_EQ(d.conv_channels(), 512);
}

TEST(Qwen35Config, TakesTieWordEmbeddingsFromEitherPlace) {
  nlohmann::json config = nested(text_config());
  config["tie_word_embeddings"] = true;
  EXPECT_TRUE(qwen3_5::parse_config(config).tie_word_embeddings);
}

// Each row changes one key to something that this program cannot run; the refusal has to name the
// key.
struct Refusal {
  const char* key;
  nlohmann::json value;
};

class Qwen35Refusal : public testing::TestWithParam<Refusal> {};

TEST_P(Qwen35Refusal, NamesTheKey) {
  nlohmann::json text = text_config();
  text[GetParam().key] = GetParam().value;
  EXPECT_NE(qwen3_5_refusal(text).find(GetParam().key), std::string::npos) << qwen3_5_refusal(text);
}

INSTANTIATE_TEST_SUITE_P(
    Keys, Qwen35Refusal,
    testing::Values(Refusal{"hidden_act", "gelu"}, Refusal{"attn_output_gate", false},
                    Refusal{"attention_bias", true}, Refusal{"output_gate_type", "sigmoid"},
                    Refusal{"num_key_value_heads", 3}, Refusal{"linear_num_value_heads", 3},
                    Refusal{"head_dim", 31}, Refusal{"hidden_size", 63},
                    Refusal{"linear_value_head_dim", 48}, Refusal{"mtp_num_hidden_layers", 2},
                    Refusal{"layer_types", nlohmann::json::array({"full_attention"})},
                    Refusal{"num_hidden_layers", 1 << 30}, Refusal{"vocab_size", -1},
                    Refusal{"vocab_size", nullptr}),
    [](const auto& test) { return std::to_string(test.index) + "_" + test.param.key; });

TEST(Qwen35Config, RefusesARopeTypeItDoesNotKnow) {
  nlohmann::json text = text_config();
  text["rope_parameters"]["rope_type"] = "longrope";
  EXPECT_NE(qwen3_5_refusal(text).find("rope_type"), std::string::npos);
}

TEST(Qwen35Config, RefusesAModelWithoutAttention) {
  nlohmann::json text = text_config();
  text["num_hidden_layers"] = 1;
  text["layer_types"] = {"linear_attention"};
  EXPECT_NE(qwen3_5_refusal(text).find("full-attention"), std::string::npos);
}

TEST(Qwen35Config, RefusesAnUnknownKindOfLayer) {
  nlohmann::json text = text_config();
  text["num_hidden_layers"] = 1;
  text["layer_types"] = {"sliding_attention"};
  EXPECT_NE(qwen3_5_refusal(text).find("layer_types"), std::string::npos);
}

}  // namespace
}  // namespace slip
