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
  parse_hybrid_mixers(text, 1e4, config);
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
