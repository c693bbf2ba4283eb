#include "model/weights.h"

#include <gtest/gtest.h>

namespace slip {
namespace {

WeightView matrix(int32_t n_out, int32_t n_in) {
  static const std::byte byte{};
  return {.format = WeightFormat::kBF16, .n_out = n_out, .n_in = n_in, .data = &byte};
}

FfnWeights ffn(int32_t size) {
  return {.gate = matrix(size, 8), .up = matrix(size, 8), .down = matrix(8, size)};
}

// Embedding and head of 800 bytes each, one layer: attention 512 bytes, four experts of 768, a
// router of 64; a draft head with a fusion of 256 bytes and nothing else.
LoadedModel model_with_experts() {
  static const std::byte other{};
  LoadedModel model;
  model.config.experts = {.n_experts = 4, .n_experts_per_token = 2};
  model.weights.embedding = matrix(50, 8);
  model.weights.head = matrix(50, 8);
  model.weights.head.data = &other;
  LayerWeights layer;
  layer.attention.q = layer.attention.k = layer.attention.v = layer.attention.out = matrix(8, 8);
  layer.experts.router = matrix(4, 8);
  layer.experts.experts.assign(4, ffn(16));
  model.weights.layers.push_back(layer);
  model.weights.draft_head.fusion = matrix(8, 16);
  return model;
}

TEST(MatrixBytes, CountsEveryMatrix) {
  EXPECT_EQ(matrix_bytes(model_with_experts()), 800 + 800 + 512 + 4 * 768 + 64 + 256);
}

TEST(MatrixBytes, CountsATiedEmbeddingOnce) {
  LoadedModel model = model_with_experts();
  model.weights.head = model.weights.embedding;
  EXPECT_EQ(matrix_bytes(model), 800 + 512 + 4 * 768 + 64 + 256);
}

TEST(StepMatrixBytes, CountsTheExpertsOfOneTokenAndNoDraftHead) {
  EXPECT_EQ(step_matrix_bytes(model_with_experts()), 800 + 512 + 2 * 768 + 64);
}

}  // namespace
}  // namespace slip
