#include "model/model_shapes.h"

#include <gtest/gtest.h>

#include "base/testing/expect_error.h"
#include "model/synthetic_model.h"

namespace slip {
namespace {

int64_t parameters(const char* name) {
  return synthetic_bytes({.config = shape_config(name), .format = WeightFormat::kBF16}) / 2;
}

// The tensors of the published checkpoints sum to these, without vision tower and draft head; here
// norms and other vectors are left out, less than a thousandth.
TEST(ShapeConfig, HasTheParametersOfThePublishedModels) {
  EXPECT_NEAR(static_cast<double>(parameters("qwen3.5-0.8b")), 0.752e9, 0.001e9);
  EXPECT_NEAR(static_cast<double>(parameters("qwen3.5-2b")), 1.882e9, 0.002e9);
  EXPECT_NEAR(static_cast<double>(parameters("qwen3.5-4b")), 4.206e9, 0.002e9);
  EXPECT_NEAR(static_cast<double>(parameters("qwen3.6-35b-a3b")), 34.661e9, 0.002e9);
}

TEST(ShapeConfig, HasAttentionInEveryFourthLayer) {
  const ModelConfig config = shape_config("qwen3.5-4b");
  EXPECT_EQ(config.layers[0].mixer, MixerKind::kDeltaNet);
  EXPECT_EQ(config.layers[3].mixer, MixerKind::kAttention);
  EXPECT_EQ(config.n_layers(MixerKind::kAttention), 8);
}

TEST(ShapeConfig, RefusesAnotherNameWithThoseThereAre) {
  EXPECT_TRUE(test::fails_with(ErrorCode::kInvalidArgument,
                               "--model-shape: found \"gpt\", wanted one of: qwen3.5-0.8b",
                               [] { shape_config("gpt"); }));
}

}  // namespace
}  // namespace slip
