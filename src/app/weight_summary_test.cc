#include "app/weight_summary.h"

#include <vector>

#include <gtest/gtest.h>

namespace slip {
namespace {

// Matrices of 10 x 8 at different addresses; nothing reads their values.
class SumWeights : public testing::Test {
 protected:
  WeightView matrix(WeightFormat format) {
    return {.format = format, .n_out = 10, .n_in = 8, .data = &memory_[next_++]};
  }
  FfnWeights ffn(WeightFormat format) {
    return {.gate = matrix(format), .up = matrix(format), .down = matrix(format)};
  }

  std::vector<std::byte> memory_ = std::vector<std::byte>(64);
  size_t next_ = 0;
};

TEST_F(SumWeights, CountsExpertsSharedExpertAndRouter) {
  LayerWeights layer;
  layer.experts.router = matrix(WeightFormat::kF32);
  layer.experts.shared_gate = matrix(WeightFormat::kF32);
  layer.experts.shared = ffn(WeightFormat::kF16);
  layer.experts.experts = {ffn(WeightFormat::kBF16), ffn(WeightFormat::kBF16)};
  ModelWeights weights;
  weights.layers = {layer};
  const std::vector<FormatSum> sums = sum_trunk(weights);
  ASSERT_EQ(sums.size(), 3u);
  EXPECT_EQ(sums[0].n_matrices, 2);  // f32
  EXPECT_EQ(sums[0].n_bytes, 2 * 10 * 8 * 4);
  EXPECT_EQ(sums[1].n_matrices, 3);  // f16
  EXPECT_EQ(sums[2].n_matrices, 6);  // bf16
}

TEST_F(SumWeights, CountsATiedHeadOnce) {
  ModelWeights weights;
  weights.embedding = weights.head = matrix(WeightFormat::kBF16);
  const std::vector<FormatSum> sums = sum_trunk(weights);
  ASSERT_EQ(sums.size(), 1u);
  EXPECT_EQ(sums[0].n_matrices, 1);
}

TEST_F(SumWeights, KeepsTheDraftHeadApart) {
  ModelWeights weights;
  weights.embedding = matrix(WeightFormat::kBF16);
  weights.draft_head.fusion = matrix(WeightFormat::kF16);
  weights.draft_head.layer.attention.q = matrix(WeightFormat::kF16);
  ASSERT_EQ(sum_draft_head(weights).size(), 1u);
  EXPECT_EQ(sum_draft_head(weights)[0].format, WeightFormat::kF16);
  EXPECT_EQ(sum_draft_head(weights)[0].n_matrices, 2);
  EXPECT_EQ(sum_trunk(weights)[0].format, WeightFormat::kBF16);
}

}  // namespace
}  // namespace slip
