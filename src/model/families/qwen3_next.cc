#include "model/families/qwen3_next.h"

#include "model/families/config_parts.h"
#include "model/families/weight_finder.h"

namespace slip::qwen3_next {

ModelConfig parse_config(const nlohmann::json& json) {
  const ConfigReader text(json, "config.json");
  text.require_boolean("attention_bias", false, false);
  if (text.integer_or("num_nextn_predict_layers", 1, 0, kLayersMax) > 1)
    text.refuse("num_nextn_predict_layers", "0 or 1");
  ModelConfig config = parse_sizes(text, text);
  config.attention = parse_heads(text, config.hidden_size, 256);
  config.attention.rope = parse_rope(text, config.attention.head_dim, 0.25, 1e4);
  config.attention.has_output_gate = true;
  config.attention.has_head_norms = true;
  config.layers = parse_hybrid_layers(text);
  if (config.n_layers(MixerKind::kDeltaNet) > 0) config.delta_net = parse_delta_net(text);
  config.experts = parse_experts(text, true);
  place_experts(text, config.layers);
  config.intermediate_size = parse_intermediate_size(text, config);
  config.draft_head_ffn = FfnKind::kExperts;
  return config;
}

ModelWeights find_weights(const ModelConfig& config, TensorFinder& finder) {
  return slip::find_weights(config, {.has_zero_centred_norms = true, .has_fused_delta_net = true},
                            finder);
}

}  // namespace slip::qwen3_next
