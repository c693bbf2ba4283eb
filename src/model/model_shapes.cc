#include "model/model_shapes.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "base/error.h"
#include "model/rope.h"

namespace slip {

namespace {

// What differs between the models; the numbers of their config.json.
struct ModelShape {
  const char* name;
  int32_t n_layers, hidden_size, intermediate_size;
  int32_t n_heads, n_kv_heads, n_value_heads;
  bool tie_word_embeddings;
  int32_t n_experts, n_experts_per_token, moe_intermediate_size;
};
constexpr ModelShape kShapes[] = {
    {"qwen3.5-0.8b", 24, 1024, 3584, 8, 2, 16, true, 0, 0, 0},
    {"qwen3.5-2b", 24, 2048, 6144, 8, 2, 16, true, 0, 0, 0},
    {"qwen3.5-4b", 32, 2560, 9216, 16, 4, 32, true, 0, 0, 0},
    {"qwen3.6-35b-a3b", 40, 2048, 0, 16, 2, 32, false, 256, 8, 512},
};
constexpr int32_t kAttentionEvery = 4;  // layers

std::vector<LayerConfig> layers_of(const ModelShape& shape) {
  std::vector<LayerConfig> layers;
  for (int32_t i = 1; i <= shape.n_layers; ++i) {
    layers.push_back(
        {.mixer = i % kAttentionEvery == 0 ? MixerKind::kAttention : MixerKind::kDeltaNet,
         .ffn = shape.n_experts > 0 ? FfnKind::kExperts : FfnKind::kDense});
  }
  return layers;
}

}  // namespace

std::vector<std::string_view> model_shapes() {
  std::vector<std::string_view> names;
  for (const ModelShape& shape : kShapes) names.emplace_back(shape.name);
  return names;
}

ModelConfig shape_config(std::string_view name) {
  const auto* shape = std::ranges::find(kShapes, name, &ModelShape::name);
  if (shape == std::end(kShapes)) {
    std::string known;
    for (const std::string_view other : model_shapes())
      known += (known.empty() ? "" : ", ") + std::string(other);
    throw Error(ErrorCode::kInvalidArgument,
                "--model-shape: found \"" + std::string(name) + "\", wanted one of: " + known);
  }
  return {.family = shape->n_experts > 0 ? "qwen3_5_moe" : "qwen3_5",
          .vocab_size = 248320,
          .hidden_size = shape->hidden_size,
          .intermediate_size = shape->intermediate_size,
          .context_tokens_max = 262144,
          .rms_norm_eps = 1e-6f,
          .tie_word_embeddings = shape->tie_word_embeddings,
          .attention = {.n_heads = shape->n_heads,
                        .n_kv_heads = shape->n_kv_heads,
                        .head_dim = 256,
                        .rope = default_rope(64, 1e7),
                        .has_output_gate = true,
                        .has_head_norms = true},
          .delta_net = {.n_key_heads = 16,
                        .n_value_heads = shape->n_value_heads,
                        .key_dim = 128,
                        .value_dim = 128,
                        .conv_kernel = 4},
          .experts = {.n_experts = shape->n_experts,
                      .n_experts_per_token = shape->n_experts_per_token,
                      .intermediate_size = shape->moe_intermediate_size,
                      .shared_intermediate_size = shape->moe_intermediate_size},
          .layers = layers_of(*shape)};
}

}  // namespace slip
