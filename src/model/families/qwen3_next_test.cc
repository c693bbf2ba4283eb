#include "model/families/qwen3_next.h"

#include <gtest/gtest.h>

#include "base/testing/expect_error.h"

namespace slip {
namespace {

nlohmann::json flat_config() {
  return nlohmann::json::parse(R"({"model_type": "qwen3_next",
    "vocab_size": 100, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 4,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32, "max_position_embeddings": 1000,
    "linear_num_key_heads": 2, "linear_num_value_heads": 6, "linear_key_head_dim": 32, "linear_value_head_dim": 64,
    "partial_rotary_factor": 0.25, "rope_theta": 5000.0, "num_experts": 8, "num_experts_per_tok": 2,
    "moe_intermediate_size": 32, "shared_expert_intermediate_size": 40})");
}

std::string qwen3_next_refusal(const nlohmann::json& json) {
  return test::message_of([&] { qwen3_next::parse_config(json); });
}

TEST(Qwen3NextConfig, HasExpertsInEveryLayerAndInTheDraftHead) {
  const ModelConfig config = qwen3_next::parse_config(flat_config());
  for (const LayerConfig& layer : config.layers) EXPECT_EQ(layer.ffn, FfnKind::kExperts);
  EXPECT_EQ(config.draft_head_ffn, FfnKind::kExperts);
  EXPECT_EQ(config.intermediate_size, 0);
  EXPECT_EQ(config.experts.shared_intermediate_size, 40);
  EXPECT_TRUE(config.experts.renormalise);
}

TEST(Qwen3NextConfig, LeavesLayersDenseThatItsKeysName) {
  nlohmann::json json = flat_config();
  json["mlp_only_layers"] = {1};
  json["decoder_sparse_step"] = 2;
  const ModelConfig config = qwen3_next::parse_config(json);
  EXPECT_EQ(config.layers[0].ffn, FfnKind::kDense);    // skipped by the step
  EXPECT_EQ(config.layers[1].ffn, FfnKind::kDense);    // named
  EXPECT_EQ(config.layers[3].ffn, FfnKind::kExperts);  // every second, from the second on
  EXPECT_EQ(config.intermediate_size, 96);
}

TEST(Qwen3NextConfig, RefusesByKey) {
  nlohmann::json json = flat_config();
  json["num_experts_per_tok"] = 9;
  EXPECT_EQ(qwen3_next_refusal(json),
            "config.json.num_experts_per_tok: found 9, wanted an integer in [1, 8]");
  json = flat_config();
  json["mlp_only_layers"] = "all";
  EXPECT_EQ(qwen3_next_refusal(json),
            "config.json.mlp_only_layers: found \"all\", wanted a list of integers in [0, 1024]");
  json = flat_config();
  json["num_nextn_predict_layers"] = 2;
  EXPECT_EQ(qwen3_next_refusal(json),
            "config.json.num_nextn_predict_layers: found 2, wanted 0 or 1");
}

}  // namespace
}  // namespace slip
