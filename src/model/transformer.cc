#include "model/transformer.h"

namespace slip {

Transformer::Transformer(const LoadedModel& model, Ops& ops)
    : ops_(ops),
      hidden_size_(model.config.hidden_size),
      queries_width_(model.config.attention.queries_width()) {
  const ModelConfig& config = model.config;
  const ModelWeights& weights = model.weights;
  const bool is_tied = weights.head.data == weights.embedding.data;
  embedding_ = add_matrix(weights.embedding, is_tied ? MatrixUse::kProduct : MatrixUse::kOther);
  int32_t n_of_kind[2] = {0, 0};
  for (size_t i = 0; i < config.layers.size(); ++i) {
    int32_t& n = n_of_kind[static_cast<int>(config.layers[i].mixer)];
    layers_.push_back(add_layer(weights.layers[i], config.layers[i], n++));
  }
  norm_ = add_vector(weights.norm);
  head_ = is_tied ? embedding_ : add_matrix(weights.head);
  if (!config.has_draft_head) return;
  const DraftHeadWeights& head = weights.draft_head;
  const LayerConfig layer{.mixer = MixerKind::kAttention, .ffn = config.draft_head_ffn};
  draft_head_ = {.embedding_norm = add_vector(head.embedding_norm),
                 .hidden_norm = add_vector(head.hidden_norm),
                 .norm = add_vector(head.norm),
                 .fusion = add_matrix(head.fusion),
                 .layer = add_layer(head.layer, layer, config.n_layers(MixerKind::kAttention))};
}

// What a model does not have is not registered.
MatrixRef Transformer::add_matrix(const WeightView& weight, MatrixUse use) {
  return weight.data == nullptr ? MatrixRef::kNone : ops_.add_matrix(weight, use);
}

VectorRef Transformer::add_vector(const Vector& values) {
  return values.empty() ? VectorRef::kNone : ops_.add_vector(values);
}

Transformer::Layer Transformer::add_layer(const LayerWeights& weights, LayerConfig config,
                                          int32_t mixer_index) {
  Layer layer{.mixer = config.mixer,
              .ffn_kind = config.ffn,
              .mixer_index = mixer_index,
              .input_norm = add_vector(weights.input_norm),
              .post_attention_norm = add_vector(weights.post_attention_norm),
              .attention = {},
              .delta_net = {},
              .ffn = {},
              .experts = {}};
  if (config.mixer == MixerKind::kAttention) {
    layer.attention = add_attention(weights.attention);
  } else {
    layer.delta_net = add_delta_net(weights.delta_net);
  }
  if (config.ffn == FfnKind::kDense) {
    layer.ffn = add_ffn(weights.ffn);
  } else {
    layer.experts = add_experts(weights.experts);
  }
  return layer;
}

Transformer::Attention Transformer::add_attention(const AttentionWeights& weights) {
  return {.in = {add_matrix(weights.q), add_matrix(weights.k), add_matrix(weights.v)},
          .bias = add_vector(weights.bias),
          .q_norm = add_vector(weights.q_norm),
          .k_norm = add_vector(weights.k_norm),
          .out = add_matrix(weights.out)};
}

Transformer::DeltaNet Transformer::add_delta_net(const DeltaNetWeights& weights) {
  return {.in = {add_matrix(weights.qkv), add_matrix(weights.z), add_matrix(weights.b),
                 add_matrix(weights.a)},
          .conv = add_vector(weights.conv),
          .a_log = add_vector(weights.a_log),
          .dt_bias = add_vector(weights.dt_bias),
          .norm = add_vector(weights.norm),
          .out = add_matrix(weights.out)};
}

FfnRefs Transformer::add_ffn(const FfnWeights& weights) {
  return {.gate = add_matrix(weights.gate),
          .up = add_matrix(weights.up),
          .down = add_matrix(weights.down)};
}

Transformer::Experts Transformer::add_experts(const ExpertsWeights& weights) {
  std::vector<FfnRefs> routed;
  for (const FfnWeights& expert : weights.experts) routed.push_back(add_ffn(expert));
  return {.router = add_matrix(weights.router, MatrixUse::kOther),
          .shared_gate = add_matrix(weights.shared_gate, MatrixUse::kOther),
          .networks = ops_.add_experts(routed, add_ffn(weights.shared))};
}

void Transformer::forward(const Pass& pass, std::span<const RowCopy> logit_rows) {
  ops_.begin(pass);
  ops_.embed(pass, embedding_, Act::kResidual);
  for (const Layer& layer : layers_) run_layer(pass, layer);
  ops_.norm(pass, {.x = Act::kResidual, .weight = norm_, .out = Act::kNormed});
  if (logit_rows.empty()) return;
  ops_.copy_rows(Act::kNormed, Act::kSelected, logit_rows);
  ops_.project({.x = Act::kSelected,
                .weights = {&head_, 1},
                .out = Act::kLogits,
                .n_rows = static_cast<int32_t>(logit_rows.size())});
}

void Transformer::run_layer(const Pass& pass, const Layer& layer) {
  const bool is_attention = layer.mixer == MixerKind::kAttention;
  ops_.project({.x = Act::kResidual,
                .norm = layer.input_norm,
                .weights = is_attention ? layer.attention.in : layer.delta_net.in,
                .bias = is_attention ? layer.attention.bias : VectorRef::kNone,
                .out = Act::kProjected,
                .n_rows = pass.n_rows()});
  if (is_attention) {
    run_attention(pass, layer);
  } else {
    run_delta_net(pass, layer);
  }
  const MatrixRef& out = is_attention ? layer.attention.out : layer.delta_net.out;
  ops_.project({.x = Act::kMixed,
                .weights = {&out, 1},
                .epilogue = Epilogue::kAddResidual,
                .out = Act::kResidual,
                .n_rows = pass.n_rows()});
  run_ffn(pass, layer);
}

void Transformer::run_attention(const Pass& pass, const Layer& layer) {
  ops_.attention(pass, {.kv_layer = layer.mixer_index,
                        .q_norm = layer.attention.q_norm,
                        .k_norm = layer.attention.k_norm});
}

void Transformer::run_ffn(const Pass& pass, const Layer& layer) {
  if (layer.ffn_kind == FfnKind::kExperts) {
    ops_.experts(pass, {.norm = layer.post_attention_norm,
                        .router = layer.experts.router,
                        .experts = layer.experts.networks,
                        .shared_gate = layer.experts.shared_gate});
    return;
  }
  const MatrixRef gate_up[] = {layer.ffn.gate, layer.ffn.up};
  ops_.project({.x = Act::kResidual,
                .norm = layer.post_attention_norm,
                .weights = gate_up,
                .epilogue = Epilogue::kSiluMul,
                .out = Act::kFfn,
                .n_rows = pass.n_rows()});
  ops_.project({.x = Act::kFfn,
                .weights = {&layer.ffn.down, 1},
                .epilogue = Epilogue::kAddResidual,
                .out = Act::kResidual,
                .n_rows = pass.n_rows()});
}

void Transformer::run_delta_net(const Pass& pass, const Layer& layer) {
  const DeltaNet& d = layer.delta_net;
  ops_.delta_net(pass, {.recurrent_layer = layer.mixer_index,
                        .conv = d.conv,
                        .a_log = d.a_log,
                        .dt_bias = d.dt_bias,
                        .norm = d.norm});
}

void Transformer::fold(const Pass& pass) {
  ops_.begin(pass);
  for (const Layer& layer : layers_) {
    if (layer.mixer == MixerKind::kDeltaNet) run_delta_net(pass, layer);
  }
}

// Begins a pass of the head: kResidual = fusion [ norm(embedding) | norm(hidden) ],
// specification 5.1.
void Transformer::fuse(const Pass& pass) {
  ops_.begin(pass);
  ops_.embed(pass, embedding_, Act::kResidual);
  ops_.norm(pass, {.x = Act::kResidual, .weight = draft_head_.embedding_norm, .out = Act::kFusion});
  ops_.norm(pass, {.x = Act::kNormed,
                   .weight = draft_head_.hidden_norm,
                   .out = Act::kFusion,
                   .out_column = hidden_size_});
  ops_.project({.x = Act::kFusion,
                .weights = {&draft_head_.fusion, 1},
                .out = Act::kResidual,
                .n_rows = pass.n_rows()});
}

void Transformer::append_draft_history(const Pass& pass) {
  const Layer& layer = draft_head_.layer;
  fuse(pass);
  // Keys and values only, where attention expects them.
  ops_.project({.x = Act::kResidual,
                .norm = layer.input_norm,
                .weights = std::span(layer.attention.in).subspan(1),
                .out = Act::kProjected,
                .out_column = queries_width_,
                .n_rows = pass.n_rows()});
  ops_.attention(pass, {.kv_layer = layer.mixer_index,
                        .q_norm = layer.attention.q_norm,
                        .k_norm = layer.attention.k_norm,
                        .append_only = true});
}

void Transformer::draft(const Pass& pass) {
  fuse(pass);
  run_layer(pass, draft_head_.layer);
  ops_.norm(pass, {.x = Act::kResidual, .weight = draft_head_.norm, .out = Act::kNormed});
  ops_.project(
      {.x = Act::kNormed, .weights = {&head_, 1}, .out = Act::kLogits, .n_rows = pass.n_rows()});
}

}  // namespace slip
