#include "model/families/llama.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "base/check.h"
#include "model/families/config_parts.h"
#include "model/families/weight_finder.h"

namespace slip::llama {

namespace {

struct Variant {
  std::string_view model_type;
  int32_t head_dim;  // where the configuration is silent; 0: hidden_size / num_attention_heads
  bool has_bias;
  bool has_head_norms;
  bool has_experts;
};

constexpr std::array kVariants = {
    Variant{"llama", 0, false, false, false},
    Variant{"qwen2", 0, true, false, false},
    Variant{"qwen3", 128, false, true, false},
    Variant{"qwen3_moe", 0, false, true, true},
};

}  // namespace

ModelConfig parse_config(const nlohmann::json& json) {
  const ConfigReader text(json, "config.json");
  // Where the key exists it would add a bias to the output projection too.
  text.require_boolean("attention_bias", false, false);
  text.require_boolean("mlp_bias", false, false);
  ModelConfig config = parse_sizes(text, text);
  const auto* variant = std::ranges::find(kVariants, config.family, &Variant::model_type);
  SLIP_CHECK(variant != kVariants.end());

  config.attention = parse_heads(text, config.hidden_size, variant->head_dim);
  config.attention.rope = parse_rope(text, config.attention.head_dim, 1, 1e4);
  if (config.attention.rotary_dims() != config.attention.head_dim)
    text.refuse("partial_rotary_factor", "1");  // the reference rotates whole heads
  config.attention.has_bias = variant->has_bias;
  config.attention.has_head_norms = variant->has_head_norms;
  config.layers = parse_attention_layers(text);
  if (variant->has_experts) {
    config.experts = parse_experts(text, false);
    place_experts(text, config.layers);
  }
  config.intermediate_size = parse_intermediate_size(text, config);
  return config;
}

ModelWeights find_weights(const ModelConfig& config, TensorFinder& finder) {
  return slip::find_weights(config, {}, finder);
}

}  // namespace slip::llama
