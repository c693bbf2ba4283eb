#include "model/synthetic_model.h"

#include <gtest/gtest.h>

#include "model/testing/small_config.h"

namespace slip {
namespace {

// With a shared expert, too.
ModelConfig small_config() {
  ModelConfig config = test::small_config();
  config.experts.shared_intermediate_size = 64;
  return config;
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
