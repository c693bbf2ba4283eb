#include "model/synthetic_model.h"

#include <gtest/gtest.h>

namespace slip {
namespace {

// One layer of each kind, with experts.
ModelConfig small_config() {
  return {.family = "qwen3_5_moe",
          .vocab_size = 256,
          .hidden_size = 128,
          .context_tokens_max = 4096,
          .rms_norm_eps = 1e-6f,
          .attention = {.n_heads = 2,
                        .n_kv_heads = 1,
                        .head_dim = 32,
                        .rope = default_rope(8, 1e4),
                        .has_output_gate = true,
                        .has_head_norms = true},
          .delta_net = {.n_key_heads = 2,
                        .n_value_heads = 4,
                        .key_dim = 32,
                        .value_dim = 32,
                        .conv_kernel = 4},
          .experts = {.n_experts = 4,
                      .n_experts_per_token = 2,
                      .intermediate_size = 64,
                      .shared_intermediate_size = 64},
          .layers = {{MixerKind::kDeltaNet, FfnKind::kExperts},
                     {MixerKind::kAttention, FfnKind::kExperts}}};
}

constexpr WeightFormat kMade[] = {WeightFormat::kAffine8, WeightFormat::kAffine4,
                                  WeightFormat::kBF16, WeightFormat::kFp8Block};

TEST(SyntheticModel, TakesTheBytesThatWereForetold) {
  for (const WeightFormat format : kMade) {
    const SyntheticModelOptions options{.config = small_config(), .format = format};
    EXPECT_EQ(matrix_bytes(make_synthetic_model(options)), synthetic_bytes(options))
        << name(format);
  }
}

TEST(SyntheticModel, SharesATiedEmbedding) {
  SyntheticModelOptions options{.config = small_config()};
  const int64_t untied = synthetic_bytes(options);
  options.config.tie_word_embeddings = true;
  EXPECT_EQ(untied - synthetic_bytes(options), 2 * 256 * 128);
  const LoadedModel model = make_synthetic_model(options);
  EXPECT_EQ(model.weights.head.data, model.weights.embedding.data);
}

TEST(SyntheticModel, KeepsRouterAndGatesOfAnFp8ModelInSixteenBits) {
  const LoadedModel model =
      make_synthetic_model({.config = small_config(), .format = WeightFormat::kFp8Block});
  const LayerWeights& layer = model.weights.layers[0];
  EXPECT_EQ(layer.experts.router.format, WeightFormat::kBF16);
  EXPECT_EQ(layer.delta_net.a.format, WeightFormat::kBF16);
  EXPECT_EQ(layer.delta_net.qkv.format, WeightFormat::kFp8Block);
  EXPECT_EQ(layer.experts.experts[0].up.format, WeightFormat::kFp8Block);
}

TEST(SyntheticModel, GivesEveryExpertBytesOfItsOwn) {
  const LoadedModel model = make_synthetic_model({.config = small_config()});
  const std::vector<FfnWeights>& experts = model.weights.layers[0].experts.experts;
  EXPECT_NE(experts[0].up.data, experts[1].up.data);
}

}  // namespace
}  // namespace slip
