#include "model/weights.h"

namespace slip {

namespace {

int64_t bytes(std::initializer_list<const WeightView*> matrices) {
  size_t sum = 0;
  for (const WeightView* matrix : matrices) sum += matrix->data == nullptr ? 0 : matrix->n_bytes();
  return static_cast<int64_t>(sum);
}

int64_t bytes(const FfnWeights& ffn) { return bytes({&ffn.gate, &ffn.up, &ffn.down}); }

// Routed experts count as if `n_chosen` of them, of average size, were all.
int64_t bytes(const ExpertsWeights& experts, int32_t n_chosen) {
  int64_t routed = 0;
  for (const FfnWeights& expert : experts.experts) routed += bytes(expert);
  if (!experts.experts.empty())
    routed = routed / static_cast<int64_t>(experts.experts.size()) * n_chosen;
  return bytes({&experts.router, &experts.shared_gate}) + bytes(experts.shared) + routed;
}

int64_t bytes(const LayerWeights& layer, int32_t n_chosen) {
  const AttentionWeights& a = layer.attention;
  const DeltaNetWeights& d = layer.delta_net;
  return bytes({&a.q, &a.k, &a.v, &a.out, &d.qkv, &d.z, &d.b, &d.a, &d.out}) + bytes(layer.ffn) +
         bytes(layer.experts, n_chosen);
}

}  // namespace

int64_t matrix_bytes(const LoadedModel& model) {
  const ModelWeights& weights = model.weights;
  const int32_t n_experts = model.config.experts.n_experts;
  int64_t sum = bytes({&weights.head, &weights.draft_head.fusion});
  if (weights.head.data != weights.embedding.data) sum += bytes({&weights.embedding});
  for (const LayerWeights& layer : weights.layers) sum += bytes(layer, n_experts);
  return sum + bytes(weights.draft_head.layer, n_experts);
}

int64_t step_matrix_bytes(const LoadedModel& model) {
  int64_t sum = bytes({&model.weights.head});
  for (const LayerWeights& layer : model.weights.layers)
    sum += bytes(layer, model.config.experts.n_experts_per_token);
  return sum;
}

}  // namespace slip
