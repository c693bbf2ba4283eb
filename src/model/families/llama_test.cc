#include "model/families/llama.h"

#include <gtest/gtest.h>

#include "base/testing/expect_error.h"

namespace slip {
namespace {

nlohmann::json config_of(const char* model_type) {
  nlohmann::json json = nlohmann::json::parse(R"({
    "vocab_size": 100, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 1000,
    "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32})");
  json["model_type"] = model_type;
  return json;
}

std::string llama_refusal(const nlohmann::json& json) {
  return test::message_of([&] { llama::parse_config(json); });
}

TEST(LlamaConfig, HasNeitherBiasNorHeadNormsNorGate) {
  const ModelConfig config = llama::parse_config(config_of("llama"));
  EXPECT_FALSE(config.attention.has_bias);
  EXPECT_FALSE(config.attention.has_head_norms);
  EXPECT_FALSE(config.attention.has_output_gate);
  EXPECT_EQ(config.attention.head_dim, 16);
  EXPECT_EQ(config.attention.rotary_dims(), 16);
  EXPECT_EQ(config.n_layers(MixerKind::kAttention), 2);
}

TEST(LlamaConfig, GivesEveryQueryHeadItsOwnKeysWhereNoNumberIsGiven) {
  nlohmann::json json = config_of("llama");
  json.erase("num_key_value_heads");
  EXPECT_EQ(llama::parse_config(json).attention.n_kv_heads, 4);
}

TEST(Qwen2Config, HasABias) {
  EXPECT_TRUE(llama::parse_config(config_of("qwen2")).attention.has_bias);
}

TEST(Qwen3Config, HasHeadNormsAndHeadsOf128WhereNoSizeIsGiven) {
  const ModelConfig config = llama::parse_config(config_of("qwen3"));
  EXPECT_TRUE(config.attention.has_head_norms);
  EXPECT_EQ(config.attention.head_dim, 128);
  EXPECT_EQ(config.experts.n_experts, 0);
}

TEST(Qwen3MoeConfig, HasExpertsWithoutASharedOneAndProbabilitiesAsTheyAre) {
  const ModelConfig config = llama::parse_config(config_of("qwen3_moe"));
  EXPECT_EQ(config.layers[0].ffn, FfnKind::kExperts);
  EXPECT_EQ(config.experts.shared_intermediate_size, 0);
  EXPECT_FALSE(config.experts.renormalise);
  EXPECT_EQ(config.intermediate_size, 0);
}

TEST(LlamaConfig, RefusesWhatItsLayersDoNotHave) {
  nlohmann::json json = config_of("qwen2");
  json["use_sliding_window"] = true;
  EXPECT_EQ(llama_refusal(json), "config.json.use_sliding_window: found true, wanted false");
  json = config_of("llama");
  json["attention_bias"] = true;
  EXPECT_EQ(llama_refusal(json), "config.json.attention_bias: found true, wanted false");
  json = config_of("llama");
  json["mlp_bias"] = true;
  EXPECT_EQ(llama_refusal(json), "config.json.mlp_bias: found true, wanted false");
  json = config_of("llama");
  json["hidden_act"] = "gelu";
  EXPECT_EQ(llama_refusal(json), "config.json.hidden_act: found \"gelu\", wanted \"silu\"");
  json = config_of("llama");
  json["partial_rotary_factor"] = 0.5;
  EXPECT_EQ(llama_refusal(json), "config.json.partial_rotary_factor: found 0.5, wanted 1");
  json = config_of("qwen3");
  json["layer_types"] = {"full_attention", "sliding_attention"};
  EXPECT_EQ(llama_refusal(json),
            "config.json.layer_types: found [\"full_attention\",\"sliding_attention\"], wanted "
            "\"full_attention\" for each of 2 layers");
}

}  // namespace
}  // namespace slip
