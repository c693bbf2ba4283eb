#include "model/families/qwen3_5.h"

#include <array>
#include <numeric>
#include <string>

#include "base/error.h"
#include "model/config_reader.h"

namespace slip::qwen3_5 {

namespace {

// Far above every published model; keeps products of two of them inside 64 bits and hostile files
// out of memory.
constexpr int32_t kSizeMax = 1 << 20;
constexpr int32_t kLayersMax = 1024;
constexpr int32_t kStripColumns =
    32;  // recurrent states are cut into strips of this many value columns

constexpr std::array<std::string_view, 3> kTrunkPrefixes = {"model.language_model.",
                                                            "language_model.model.", "model."};
constexpr std::array<std::string_view, 2> kTopPrefixes = {"", "language_model."};

std::vector<LayerConfig> parse_layers(const ConfigReader& text) {
  const int32_t n_layers = text.integer("num_hidden_layers", 1, kLayersMax);
  std::vector<LayerConfig> layers(static_cast<size_t>(n_layers));
  if (!text.has("layer_types")) {
    const int32_t interval = text.integer_or("full_attention_interval", 4, 1, kLayersMax);
    for (int32_t i = 0; i < n_layers; ++i) {
      layers[static_cast<size_t>(i)].mixer =
          (i + 1) % interval == 0 ? MixerKind::kAttention : MixerKind::kDeltaNet;
    }
    return layers;
  }
  const std::vector<std::string> types = text.texts("layer_types");
  if (types.size() != layers.size())
    text.refuse("layer_types", "one entry for each of " + std::to_string(n_layers) + " layers");
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i] == "full_attention") {
      layers[i].mixer = MixerKind::kAttention;
    } else if (types[i] == "linear_attention") {
      layers[i].mixer = MixerKind::kDeltaNet;
    } else {
      text.refuse("layer_types", "\"full_attention\" and \"linear_attention\" only");
    }
  }
  return layers;
}

AttentionConfig parse_attention(const ConfigReader& text) {
  AttentionConfig attention{.n_heads = text.integer("num_attention_heads", 1, kSizeMax),
                            .n_kv_heads = text.integer("num_key_value_heads", 1, kSizeMax),
                            .head_dim = text.integer_or("head_dim", 256, 16, 4096)};
  if (attention.n_heads % attention.n_kv_heads != 0)
    text.refuse("num_key_value_heads", "a divisor of num_attention_heads");
  if (attention.head_dim % 16 != 0) text.refuse("head_dim", "a multiple of 16");

  // The nested factor wins over the older place beside it.
  double rotary = text.number_or("partial_rotary_factor", 0.25, 0, 1);
  attention.rope_theta = text.number_or("rope_theta", 1e7, 1, 1e12);
  if (text.has("rope_parameters")) {
    const ConfigReader rope = text.child("rope_parameters");
    rope.require_text("rope_type", "default", {"default"});
    rotary = rope.number_or("partial_rotary_factor", rotary, 0, 1);
    attention.rope_theta = rope.number_or("rope_theta", attention.rope_theta, 1, 1e12);
  }
  attention.rotary_dims = static_cast<int32_t>(rotary * attention.head_dim);
  if (attention.rotary_dims % 2 != 0)
    text.refuse("partial_rotary_factor", "an even number of rotated dims");
  return attention;
}

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

void require_known_features(const ConfigReader& text) {
  text.require_text("hidden_act", "silu", {"silu"});
  text.require_text("output_gate_type", "silu", {"silu", "swish"});
  text.require_boolean("attn_output_gate", true, true);
  text.require_boolean("attention_bias", false, false);
  text.require_boolean("mtp_use_dedicated_embeddings", false, false);
}

// Finds the tensors of one model and adds the one that zero-centred norm weights leave out.
class WeightFinder {
 public:
  WeightFinder(const ModelConfig& config, TensorFinder& finder)
      : config_(config),
        finder_(finder),
        trunk_(finder.choose_prefix(kTrunkPrefixes, "embed_tokens.weight")) {}

  ModelWeights find() {
    ModelWeights weights;
    weights.embedding =
        finder_.matrix(trunk_ + "embed_tokens", config_.vocab_size, config_.hidden_size);
    for (size_t i = 0; i < config_.layers.size(); ++i) {
      weights.layers.push_back(
          layer(trunk_ + "layers." + std::to_string(i) + ".", config_.layers[i].mixer));
    }
    weights.norm = hidden_vector(trunk_ + "norm.weight");
    weights.head = config_.tie_word_embeddings ? weights.embedding : head();
    unfold_trunk(weights);
    if (config_.has_draft_head) weights.draft_head = draft_head();
    return weights;
  }

 private:
  Vector hidden_vector(const std::string& name) {
    return finder_.vector(name, {config_.hidden_size});
  }

  WeightView head() {
    return finder_.matrix(finder_.choose_prefix(kTopPrefixes, "lm_head.weight") + "lm_head",
                          config_.vocab_size, config_.hidden_size);
  }

  LayerWeights layer(const std::string& prefix, MixerKind mixer) {
    const int32_t hidden = config_.hidden_size;
    LayerWeights weights;
    weights.input_norm = hidden_vector(prefix + "input_layernorm.weight");
    weights.post_attention_norm = hidden_vector(prefix + "post_attention_layernorm.weight");
    if (mixer == MixerKind::kAttention) {
      weights.attention = attention(prefix + "self_attn.");
    } else {
      weights.delta_net = delta_net(prefix + "linear_attn.");
    }
    weights.ffn = {
        .gate = finder_.matrix(prefix + "mlp.gate_proj", config_.intermediate_size, hidden),
        .up = finder_.matrix(prefix + "mlp.up_proj", config_.intermediate_size, hidden),
        .down = finder_.matrix(prefix + "mlp.down_proj", hidden, config_.intermediate_size)};
    return weights;
  }

  AttentionWeights attention(const std::string& prefix) {
    const AttentionConfig& a = config_.attention;
    const int32_t hidden = config_.hidden_size;
    return {.q = finder_.matrix(prefix + "q_proj", 2 * a.q_width(), hidden),
            .k = finder_.matrix(prefix + "k_proj", a.kv_width(), hidden),
            .v = finder_.matrix(prefix + "v_proj", a.kv_width(), hidden),
            .out = finder_.matrix(prefix + "o_proj", hidden, a.q_width()),
            .q_norm = finder_.vector(prefix + "q_norm.weight", {a.head_dim}),
            .k_norm = finder_.vector(prefix + "k_norm.weight", {a.head_dim})};
  }

  DeltaNetWeights delta_net(const std::string& prefix) {
    const DeltaNetConfig& d = config_.delta_net;
    const int32_t hidden = config_.hidden_size;
    return {.qkv = finder_.matrix(prefix + "in_proj_qkv", d.conv_channels(), hidden),
            .z = finder_.matrix(prefix + "in_proj_z", d.value_width(), hidden),
            .b = finder_.matrix(prefix + "in_proj_b", d.n_value_heads, hidden),
            .a = finder_.matrix(prefix + "in_proj_a", d.n_value_heads, hidden),
            .out = finder_.matrix(prefix + "out_proj", hidden, d.value_width()),
            .conv = finder_.vector(prefix + "conv1d.weight", {d.conv_channels(), d.conv_kernel}),
            .a_log = finder_.vector(prefix + "A_log", {d.n_value_heads}),
            .dt_bias = finder_.vector(prefix + "dt_bias", {d.n_value_heads}),
            .norm = finder_.vector(prefix + "norm.weight", {d.value_dim})};
  }

  DraftHeadWeights draft_head() {
    const std::string prefix = finder_.choose_prefix(kTopPrefixes, "mtp.norm.weight") + "mtp.";
    DraftHeadWeights head{
        .embedding_norm = hidden_vector(prefix + "pre_fc_norm_embedding.weight"),
        .hidden_norm = hidden_vector(prefix + "pre_fc_norm_hidden.weight"),
        .fusion = finder_.matrix(prefix + "fc", config_.hidden_size, 2 * config_.hidden_size),
        .layer = layer(prefix + "layers.0.", MixerKind::kAttention),
        .norm = hidden_vector(prefix + "norm.weight")};
    unfold({&head.embedding_norm, &head.hidden_norm});
    unfold({&head.layer.input_norm, &head.layer.post_attention_norm, &head.layer.attention.q_norm,
            &head.layer.attention.k_norm, &head.norm});
    return head;
  }

  static void unfold_trunk(ModelWeights& weights) {
    std::vector<Vector*> norms;
    for (LayerWeights& layer : weights.layers) {
      for (Vector* norm : {&layer.input_norm, &layer.post_attention_norm, &layer.attention.q_norm,
                           &layer.attention.k_norm}) {
        if (!norm->empty()) norms.push_back(norm);
      }
    }
    norms.push_back(&weights.norm);
    unfold(norms);
  }

  // Hugging Face stores these weights around 0, to be used as 1 + w; MLX converters add the one on
  // disk. Packs mix both, so each group of tensors is judged by its values (specification 8.1):
  // their mean lies near 0 or near 1.
  static void unfold(const std::vector<Vector*>& group) {
    double sum = 0;
    double n = 0;
    for (const Vector* norm : group) {
      sum = std::accumulate(norm->begin(), norm->end(), sum);
      n += static_cast<double>(norm->size());
    }
    const bool has_one_added = sum / n > 0.5;
    if (has_one_added) return;
    for (Vector* norm : group) {
      for (float& w : *norm) w += 1.0f;
    }
  }

  const ModelConfig& config_;
  TensorFinder& finder_;
  std::string trunk_;
};

}  // namespace

ModelConfig parse_config(const nlohmann::json& json) {
  const ConfigReader root(json, "config.json");
  const ConfigReader text = root.has("text_config") ? root.child("text_config") : root;
  require_known_features(text);
  ModelConfig config{
      .family = "qwen3_5",
      .vocab_size = text.integer("vocab_size", 1, kSizeMax),
      .hidden_size = text.integer("hidden_size", 8, kSizeMax),
      .intermediate_size = text.integer("intermediate_size", 8, kSizeMax),
      .context_tokens_max = text.integer("max_position_embeddings", 1, INT32_MAX / 2),
      .rms_norm_eps = static_cast<float>(text.number_or("rms_norm_eps", 1e-6, 0, 1))};
  if (config.hidden_size % 8 != 0) text.refuse("hidden_size", "a multiple of 8");
  if (config.intermediate_size % 8 != 0) text.refuse("intermediate_size", "a multiple of 8");
  config.tie_word_embeddings =
      text.boolean_or("tie_word_embeddings", root.boolean_or("tie_word_embeddings", false));
  config.attention = parse_attention(text);
  config.layers = parse_layers(text);
  // The cache is what a sequence's room is counted in.
  if (config.n_layers(MixerKind::kAttention) == 0)
    text.refuse("layer_types", "at least one full-attention layer");
  if (config.n_layers(MixerKind::kDeltaNet) > 0) config.delta_net = parse_delta_net(text);
  // What the file holds decides whether there is a draft head (converters drop it); the key only
  // bounds its depth.
  if (text.integer_or("mtp_num_hidden_layers", 1, 0, kLayersMax) > 1)
    text.refuse("mtp_num_hidden_layers", "0 or 1");
  return config;
}

ModelWeights find_weights(const ModelConfig& config, TensorFinder& finder) {
  return WeightFinder(config, finder).find();
}

}  // namespace slip::qwen3_5
