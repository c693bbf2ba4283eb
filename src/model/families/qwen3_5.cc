#include "model/families/qwen3_5.h"

#include "model/families/config_parts.h"
#include "model/families/weight_finder.h"

namespace slip::qwen3_5 {

namespace {

void require_known_features(const ConfigReader& text) {
  text.require_text("output_gate_type", "silu", {"silu", "swish"});
  text.require_boolean("attn_output_gate", true, true);
  text.require_boolean("attention_bias", false, false);
  text.require_boolean("mtp_use_dedicated_embeddings", false, false);
  // What the file holds decides whether there is a draft head (converters drop it); the key only
  // bounds its depth.
  if (text.integer_or("mtp_num_hidden_layers", 1, 0, kLayersMax) > 1)
    text.refuse("mtp_num_hidden_layers", "0 or 1");
}

ModelConfig parse_mixers(const ConfigReader& root, const ConfigReader& text) {
  require_known_features(text);
  ModelConfig config = parse_sizes(root, text);
  parse_hybrid_mixers(text, 1e7, config);
  return config;
}

}  // namespace

ModelConfig parse_config(const nlohmann::json& json) {
  const ConfigReader root(json, "config.json");
  const ConfigReader text = text_reader(root);
  ModelConfig config = parse_mixers(root, text);
  config.intermediate_size = parse_intermediate_size(text, config);
  return config;
}

ModelConfig parse_moe_config(const nlohmann::json& json) {
  const ConfigReader root(json, "config.json");
  const ConfigReader text = text_reader(root);
  ModelConfig config = parse_mixers(root, text);
  text.require_boolean("norm_topk_prob", true, true);
  config.experts = parse_experts(text, true);
  for (LayerConfig& layer : config.layers) layer.ffn = FfnKind::kExperts;
  config.draft_head_ffn = FfnKind::kExperts;
  return config;
}

ModelWeights find_weights(const ModelConfig& config, TensorFinder& finder) {
  return slip::find_weights(config, {.has_zero_centred_norms = true}, finder);
}

}  // namespace slip::qwen3_5
