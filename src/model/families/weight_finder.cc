#include "model/families/weight_finder.h"

#include <array>
#include <numeric>
#include <string_view>

#include "model/families/delta_net_rows.h"

namespace slip {

namespace {

constexpr std::array<std::string_view, 3> kTrunkPrefixes = {"model.language_model.",
                                                            "language_model.model.", "model."};
constexpr std::array<std::string_view, 2> kTopPrefixes = {"", "language_model."};

class WeightFinder {
 public:
  WeightFinder(const ModelConfig& config, const NameMap& names, TensorFinder& finder)
      : config_(config),
        names_(names),
        finder_(finder),
        trunk_(finder.choose_prefix(kTrunkPrefixes, "embed_tokens.weight")) {}

  ModelWeights find();

 private:
  Vector hidden_vector(const std::string& name) {
    return finder_.vector(name, {config_.hidden_size});
  }
  WeightView head();
  LayerWeights layer(const std::string& prefix, LayerConfig layer);
  AttentionWeights attention(const std::string& prefix);
  DeltaNetWeights delta_net(const std::string& prefix);
  void find_fused_projections(const std::string& prefix, DeltaNetWeights& weights);
  FfnWeights ffn(const std::string& prefix, int32_t intermediate_size);
  ExpertsWeights experts(const std::string& prefix);
  std::vector<FfnWeights> routed_experts(const std::string& prefix);
  DraftHeadWeights draft_head();

  const ModelConfig& config_;
  const NameMap& names_;
  TensorFinder& finder_;
  std::string trunk_;
};

// The norms of one layer that may be stored zero-centred.
std::vector<Vector*> norms_of(LayerWeights& layer) {
  return {&layer.input_norm, &layer.post_attention_norm, &layer.attention.q_norm,
          &layer.attention.k_norm};
}

// Packs mix norms with and without the one, so each group of tensors is judged by its values
// (specification 8.1): their mean lies near 0 or near 1.
void unfold(const std::vector<Vector*>& group) {
  double sum = 0;
  double n = 0;
  for (const Vector* norm : group) {
    sum = std::accumulate(norm->begin(), norm->end(), sum);
    n += static_cast<double>(norm->size());
  }
  const bool has_one_added = sum > 0.5 * n;
  if (has_one_added) return;
  for (Vector* norm : group) {
    for (float& w : *norm) w += 1.0f;
  }
}

void unfold_trunk(ModelWeights& weights) {
  std::vector<Vector*> group{&weights.norm};
  for (LayerWeights& layer : weights.layers) {
    for (Vector* norm : norms_of(layer)) group.push_back(norm);
  }
  unfold(group);
}

// `n` matrices of n_out rows that lie one behind the other.
std::vector<WeightView> split_stack(const WeightView& stack, int32_t n, int32_t n_out) {
  std::vector<WeightView> matrices;
  matrices.reserve(static_cast<size_t>(n));
  for (int32_t i = 0; i < n; ++i) matrices.push_back(slice_rows(stack, i * n_out, n_out));
  return matrices;
}

ModelWeights WeightFinder::find() {
  ModelWeights weights;
  weights.embedding =
      finder_.matrix(trunk_ + "embed_tokens", config_.vocab_size, config_.hidden_size);
  for (size_t i = 0; i < config_.layers.size(); ++i) {
    weights.layers.push_back(
        layer(trunk_ + "layers." + std::to_string(i) + ".", config_.layers[i]));
  }
  weights.norm = hidden_vector(trunk_ + "norm.weight");
  weights.head = config_.tie_word_embeddings ? weights.embedding : head();
  if (names_.has_zero_centred_norms) unfold_trunk(weights);
  if (config_.has_draft_head) weights.draft_head = draft_head();
  return weights;
}

WeightView WeightFinder::head() {
  return finder_.matrix(finder_.choose_prefix(kTopPrefixes, "lm_head.weight") + "lm_head",
                        config_.vocab_size, config_.hidden_size);
}

LayerWeights WeightFinder::layer(const std::string& prefix, LayerConfig layer) {
  LayerWeights weights;
  weights.input_norm = hidden_vector(prefix + "input_layernorm.weight");
  weights.post_attention_norm = hidden_vector(prefix + "post_attention_layernorm.weight");
  if (layer.mixer == MixerKind::kAttention) {
    weights.attention = attention(prefix + "self_attn.");
  } else {
    weights.delta_net = delta_net(prefix + "linear_attn.");
  }
  if (layer.ffn == FfnKind::kDense) {
    weights.ffn = ffn(prefix + "mlp.", config_.intermediate_size);
  } else {
    weights.experts = experts(prefix + "mlp.");
  }
  return weights;
}

AttentionWeights WeightFinder::attention(const std::string& prefix) {
  const AttentionConfig& a = config_.attention;
  const int32_t hidden = config_.hidden_size;
  AttentionWeights weights{.q = finder_.matrix(prefix + "q_proj", a.queries_width(), hidden),
                           .k = finder_.matrix(prefix + "k_proj", a.kv_width(), hidden),
                           .v = finder_.matrix(prefix + "v_proj", a.kv_width(), hidden),
                           .out = finder_.matrix(prefix + "o_proj", hidden, a.q_width()),
                           .q_norm = {},
                           .k_norm = {},
                           .bias = {}};
  if (a.has_head_norms) {
    weights.q_norm = finder_.vector(prefix + "q_norm.weight", {a.head_dim});
    weights.k_norm = finder_.vector(prefix + "k_norm.weight", {a.head_dim});
  }
  if (a.has_bias) {
    const std::pair<const char*, int32_t> parts[] = {{"q_proj.bias", a.queries_width()},
                                                     {"k_proj.bias", a.kv_width()},
                                                     {"v_proj.bias", a.kv_width()}};
    for (const auto& [name, width] : parts) {
      const Vector part = finder_.vector(prefix + name, {width});
      weights.bias.insert(weights.bias.end(), part.begin(), part.end());
    }
  }
  return weights;
}

DeltaNetWeights WeightFinder::delta_net(const std::string& prefix) {
  const DeltaNetConfig& d = config_.delta_net;
  const int32_t hidden = config_.hidden_size;
  DeltaNetWeights weights;
  if (names_.has_fused_delta_net) {
    find_fused_projections(prefix, weights);
  } else {
    weights.qkv = finder_.matrix(prefix + "in_proj_qkv", d.conv_channels(), hidden);
    weights.z = finder_.matrix(prefix + "in_proj_z", d.value_width(), hidden);
    weights.b = finder_.matrix(prefix + "in_proj_b", d.n_value_heads, hidden);
    weights.a = finder_.matrix(prefix + "in_proj_a", d.n_value_heads, hidden);
  }
  weights.out = finder_.matrix(prefix + "out_proj", hidden, d.value_width());
  weights.conv = finder_.vector(prefix + "conv1d.weight", {d.conv_channels(), d.conv_kernel});
  weights.a_log = finder_.vector(prefix + "A_log", {d.n_value_heads});
  weights.dt_bias = finder_.vector(prefix + "dt_bias", {d.n_value_heads});
  weights.norm = finder_.vector(prefix + "norm.weight", {d.value_dim});
  return weights;
}

void WeightFinder::find_fused_projections(const std::string& prefix, DeltaNetWeights& weights) {
  const DeltaNetConfig& d = config_.delta_net;
  const DeltaNetRows rows = delta_net_rows(d);
  const std::string qkvz = prefix + "in_proj_qkvz";
  const WeightView fused =
      finder_.matrix(qkvz, d.conv_channels() + d.value_width(), config_.hidden_size);
  weights.qkv = finder_.reorder_rows(qkvz, fused, rows.qkv);
  weights.z = finder_.reorder_rows(qkvz, fused, rows.z);
  const std::string ba = prefix + "in_proj_ba";
  const WeightView gates = finder_.matrix(ba, 2 * d.n_value_heads, config_.hidden_size);
  weights.b = finder_.reorder_rows(ba, gates, rows.b);
  weights.a = finder_.reorder_rows(ba, gates, rows.a);
}

FfnWeights WeightFinder::ffn(const std::string& prefix, int32_t intermediate_size) {
  const int32_t hidden = config_.hidden_size;
  return {.gate = finder_.matrix(prefix + "gate_proj", intermediate_size, hidden),
          .up = finder_.matrix(prefix + "up_proj", intermediate_size, hidden),
          .down = finder_.matrix(prefix + "down_proj", hidden, intermediate_size)};
}

ExpertsWeights WeightFinder::experts(const std::string& prefix) {
  const ExpertsConfig& e = config_.experts;
  ExpertsWeights weights;
  weights.router = finder_.matrix(prefix + "gate", e.n_experts, config_.hidden_size);
  weights.experts = routed_experts(prefix);
  if (e.shared_intermediate_size > 0) {
    weights.shared = ffn(prefix + "shared_expert.", e.shared_intermediate_size);
    weights.shared_gate = finder_.matrix(prefix + "shared_expert_gate", 1, config_.hidden_size);
  }
  return weights;
}

// Published three ways (specification 7.2, 8.1): one stack for gate and up, a stack for each, or
// expert by expert.
std::vector<FfnWeights> WeightFinder::routed_experts(const std::string& prefix) {
  const int32_t n = config_.experts.n_experts;
  const int32_t size = config_.experts.intermediate_size;
  const int32_t hidden = config_.hidden_size;
  std::vector<FfnWeights> experts(static_cast<size_t>(n));
  if (finder_.has(prefix + "experts.gate_up_proj")) {
    const auto gate_up = split_stack(
        finder_.stacked_tensor(prefix + "experts.gate_up_proj", n, 2 * size, hidden), n, 2 * size);
    const auto down = split_stack(
        finder_.stacked_tensor(prefix + "experts.down_proj", n, hidden, size), n, hidden);
    for (size_t i = 0; i < experts.size(); ++i) {
      experts[i] = {.gate = slice_rows(gate_up[i], 0, size),
                    .up = slice_rows(gate_up[i], size, size),
                    .down = down[i]};
    }
  } else if (finder_.has(prefix + "switch_mlp.gate_proj.weight")) {
    const auto stack = [&](const char* name, int32_t n_out, int32_t n_in) {
      return split_stack(finder_.stacked_matrix(prefix + "switch_mlp." + name, n, n_out, n_in), n,
                         n_out);
    };
    const auto gate = stack("gate_proj", size, hidden);
    const auto up = stack("up_proj", size, hidden);
    const auto down = stack("down_proj", hidden, size);
    for (size_t i = 0; i < experts.size(); ++i)
      experts[i] = {.gate = gate[i], .up = up[i], .down = down[i]};
  } else {
    for (size_t i = 0; i < experts.size(); ++i)
      experts[i] = ffn(prefix + "experts." + std::to_string(i) + ".", size);
  }
  return experts;
}

DraftHeadWeights WeightFinder::draft_head() {
  const std::string prefix = finder_.choose_prefix(kTopPrefixes, "mtp.norm.weight") + "mtp.";
  DraftHeadWeights head{
      .embedding_norm = hidden_vector(prefix + "pre_fc_norm_embedding.weight"),
      .hidden_norm = hidden_vector(prefix + "pre_fc_norm_hidden.weight"),
      .fusion = finder_.matrix(prefix + "fc", config_.hidden_size, 2 * config_.hidden_size),
      .layer = layer(prefix + "layers.0.",
                     {.mixer = MixerKind::kAttention, .ffn = config_.draft_head_ffn}),
      .norm = hidden_vector(prefix + "norm.weight")};
  if (names_.has_zero_centred_norms) {
    unfold({&head.embedding_norm, &head.hidden_norm});
    std::vector<Vector*> group = norms_of(head.layer);
    group.push_back(&head.norm);
    unfold(group);
  }
  return head;
}

}  // namespace

ModelWeights find_weights(const ModelConfig& config, const NameMap& names, TensorFinder& finder) {
  return WeightFinder(config, names, finder).find();
}

}  // namespace slip
