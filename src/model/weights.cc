#include "model/weights.h"

namespace slip {

namespace {

int64_t bytes(const WeightView& matrix) {
  return matrix.data == nullptr ? 0 : static_cast<int64_t>(matrix.n_bytes());
}

// Routed experts count as if `n_chosen` of them, of average size, were all.
int64_t bytes(const LayerWeights& layer, int32_t n_chosen) {
  int64_t sum = 0;
  for_each_matrix(layer, [&](const WeightView& matrix) { sum += bytes(matrix); });
  int64_t routed = 0;
  for (const FfnWeights& expert : layer.experts.experts)
    for_each_matrix(expert, [&](const WeightView& matrix) { routed += bytes(matrix); });
  if (routed == 0) return sum;
  return sum + routed / static_cast<int64_t>(layer.experts.experts.size()) * n_chosen;
}

}  // namespace

int64_t matrix_bytes(const LoadedModel& model) {
  const ModelWeights& weights = model.weights;
  const int32_t n_experts = model.config.experts.n_experts;
  int64_t sum = bytes(weights.head) + bytes(weights.draft_head.fusion);
  if (weights.head.data != weights.embedding.data) sum += bytes(weights.embedding);
  for (const LayerWeights& layer : weights.layers) sum += bytes(layer, n_experts);
  return sum + bytes(weights.draft_head.layer, n_experts);
}

int64_t step_matrix_bytes(const LoadedModel& model) {
  int64_t sum = bytes(model.weights.head);
  for (const LayerWeights& layer : model.weights.layers)
    sum += bytes(layer, model.config.experts.n_experts_per_token);
  return sum;
}

}  // namespace slip
