#include "model/families/config_parts.h"

#include <algorithm>

namespace slip {

namespace {

constexpr int32_t kStripColumns = 32;  // recurrent states are cut into strips of this many columns

int32_t multiple_of_8(const ConfigReader& text, std::string_view key) {
  const int32_t size = text.integer(key, 8, kSizeMax);
  if (size % 8 != 0) text.refuse(key, "a multiple of 8");
  return size;
}

// linear_* keys.
DeltaNetConfig parse_delta_net(const ConfigReader& text) {
  const DeltaNetConfig d{
      .n_key_heads = text.integer_or("linear_num_key_heads", 16, 1, kSizeMax),
      .n_value_heads = text.integer_or("linear_num_value_heads", 32, 1, kSizeMax),
      .key_dim = text.integer_or("linear_key_head_dim", 128, 8, 1024),
      .value_dim = text.integer_or("linear_value_head_dim", 128, kStripColumns, 1024),
      .conv_kernel = text.integer_or("linear_conv_kernel_dim", 4, 2, 16)};
  if (d.n_value_heads % d.n_key_heads != 0)
    text.refuse("linear_num_value_heads", "a multiple of linear_num_key_heads");
  if (d.key_dim % 8 != 0) text.refuse("linear_key_head_dim", "a multiple of 8");
  if (d.value_dim % kStripColumns != 0) text.refuse("linear_value_head_dim", "a multiple of 32");
  return d;
}

// Attention in every fourth layer, or as layer_types says.
std::vector<LayerConfig> parse_hybrid_layers(const ConfigReader& text) {
  const int32_t n_layers = text.integer("num_hidden_layers", 1, kLayersMax);
  std::vector<LayerConfig> layers(static_cast<size_t>(n_layers));
  if (!text.has("layer_types")) {
    const int32_t interval = text.integer_or("full_attention_interval", 4, 1, kLayersMax);
    for (int32_t i = 0; i < n_layers; ++i) {
      layers[static_cast<size_t>(i)].mixer =
          (i + 1) % interval == 0 ? MixerKind::kAttention : MixerKind::kDeltaNet;
    }
  } else {
    const std::vector<std::string> types = text.texts("layer_types");
    if (types.size() != layers.size())
      text.refuse("layer_types", "one entry for each of " + std::to_string(n_layers) + " layers");
    for (size_t i = 0; i < types.size(); ++i) {
      if (types[i] != "full_attention" && types[i] != "linear_attention")
        text.refuse("layer_types", "\"full_attention\" and \"linear_attention\" only");
      layers[i].mixer = types[i] == "full_attention" ? MixerKind::kAttention : MixerKind::kDeltaNet;
    }
  }
  // The cache is what a sequence's room is counted in.
  const bool has_attention = std::ranges::any_of(
      layers, [](const LayerConfig& layer) { return layer.mixer == MixerKind::kAttention; });
  if (!has_attention) text.refuse("layer_types", "at least one full-attention layer");
  return layers;
}

}  // namespace

ConfigReader text_reader(const ConfigReader& root) {
  return root.has("text_config") ? root.child("text_config") : root;
}

ModelConfig parse_sizes(const ConfigReader& root, const ConfigReader& text) {
  text.require_text("hidden_act", "silu", {"silu"});
  return {.family = root.text_or("model_type", ""),
          .vocab_size = text.integer("vocab_size", 1, kSizeMax),
          .hidden_size = multiple_of_8(text, "hidden_size"),
          .context_tokens_max = text.integer("max_position_embeddings", 1, INT32_MAX / 2),
          .rms_norm_eps = static_cast<float>(text.number_or("rms_norm_eps", 1e-6, 0, 1)),
          .tie_word_embeddings = text.boolean_or("tie_word_embeddings",
                                                 root.boolean_or("tie_word_embeddings", false))};
}

AttentionConfig parse_heads(const ConfigReader& text, int32_t hidden_size,
                            int32_t head_dim_fallback) {
  AttentionConfig attention{.n_heads = text.integer("num_attention_heads", 1, kSizeMax)};
  attention.n_kv_heads = text.integer_or("num_key_value_heads", attention.n_heads, 1, kSizeMax);
  if (attention.n_heads % attention.n_kv_heads != 0)
    text.refuse("num_key_value_heads", "a divisor of num_attention_heads");
  const int32_t fallback =
      head_dim_fallback > 0 ? head_dim_fallback : hidden_size / attention.n_heads;
  attention.head_dim = text.integer_or("head_dim", fallback, 16, 4096);
  if (attention.head_dim % 16 != 0) text.refuse("head_dim", "a multiple of 16");
  return attention;
}

ExpertsConfig parse_experts(const ConfigReader& text, bool renormalise_fallback) {
  constexpr int32_t kExpertsMax = 1 << 14;
  ExpertsConfig experts{.n_experts = text.integer("num_experts", 1, kExpertsMax)};
  experts.n_experts_per_token = text.integer("num_experts_per_tok", 1, experts.n_experts);
  experts.intermediate_size = multiple_of_8(text, "moe_intermediate_size");
  if (text.integer_or("shared_expert_intermediate_size", 0, 0, kSizeMax) > 0)
    experts.shared_intermediate_size = multiple_of_8(text, "shared_expert_intermediate_size");
  experts.renormalise = text.boolean_or("norm_topk_prob", renormalise_fallback);
  return experts;
}

void parse_hybrid_mixers(const ConfigReader& text, double rope_theta_fallback,
                         ModelConfig& config) {
  config.attention = parse_heads(text, config.hidden_size, 256);
  config.attention.rope = parse_rope(text, config.attention.head_dim, 0.25, rope_theta_fallback);
  config.attention.has_output_gate = true;
  config.attention.has_head_norms = true;
  config.layers = parse_hybrid_layers(text);
  if (config.n_layers(MixerKind::kDeltaNet) > 0) config.delta_net = parse_delta_net(text);
}

std::vector<LayerConfig> parse_attention_layers(const ConfigReader& text) {
  const int32_t n_layers = text.integer("num_hidden_layers", 1, kLayersMax);
  text.require_boolean("use_sliding_window", false, false);
  if (text.has("layer_types")) {
    const std::vector<std::string> types = text.texts("layer_types");
    const auto n_full = std::ranges::count(types, "full_attention");
    if (n_full != n_layers || types.size() != static_cast<size_t>(n_layers)) {
      text.refuse("layer_types",
                  "\"full_attention\" for each of " + std::to_string(n_layers) + " layers");
    }
  }
  return std::vector<LayerConfig>(static_cast<size_t>(n_layers));
}

void place_experts(const ConfigReader& text, std::vector<LayerConfig>& layers) {
  const int32_t step = text.integer_or("decoder_sparse_step", 1, 1, kLayersMax);
  const std::vector<int32_t> dense = text.integers_or("mlp_only_layers", {}, 0, kLayersMax);
  for (size_t i = 0; i < layers.size(); ++i) {
    const bool is_dense = std::ranges::count(dense, static_cast<int32_t>(i)) > 0 ||
                          (static_cast<int32_t>(i) + 1) % step != 0;
    layers[i].ffn = is_dense ? FfnKind::kDense : FfnKind::kExperts;
  }
}

int32_t parse_intermediate_size(const ConfigReader& text, const ModelConfig& config) {
  const bool has_dense = std::ranges::any_of(
      config.layers, [](const LayerConfig& layer) { return layer.ffn == FfnKind::kDense; });
  return has_dense ? multiple_of_8(text, "intermediate_size") : 0;
}

}  // namespace slip
