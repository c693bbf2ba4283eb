#include "model/transformer.h"

namespace slip {

Transformer::Transformer(const LoadedModel& model, Ops& ops)
    : ops_(ops),
      hidden_size_(model.config.hidden_size),
      q_and_gate_width_(2 * model.config.attention.q_width()) {
  const ModelConfig& config = model.config;
  const ModelWeights& weights = model.weights;
  embedding_ = ops.add_matrix(weights.embedding);
  int32_t n_of_kind[2] = {0, 0};
  for (size_t i = 0; i < config.layers.size(); ++i) {
    const MixerKind mixer = config.layers[i].mixer;
    layers_.push_back(add_layer(weights.layers[i], mixer, n_of_kind[static_cast<int>(mixer)]++));
  }
  norm_ = ops.add_vector(weights.norm);
  head_ = weights.head.data == weights.embedding.data ? embedding_ : ops.add_matrix(weights.head);
  if (config.has_draft_head) {
    const DraftHeadWeights& head = weights.draft_head;
    draft_head_ = {.embedding_norm = ops.add_vector(head.embedding_norm),
                   .hidden_norm = ops.add_vector(head.hidden_norm),
                   .norm = ops.add_vector(head.norm),
                   .fusion = ops.add_matrix(head.fusion),
                   .layer = add_layer(head.layer, MixerKind::kAttention,
                                      config.n_layers(MixerKind::kAttention))};
  }
}

Transformer::Layer Transformer::add_layer(const LayerWeights& weights, MixerKind mixer,
                                          int32_t mixer_index) {
  Layer layer{.mixer = mixer,
              .mixer_index = mixer_index,
              .input_norm = ops_.add_vector(weights.input_norm),
              .post_attention_norm = ops_.add_vector(weights.post_attention_norm),
              .attention = {},
              .delta_net = {},
              .gate_up = {ops_.add_matrix(weights.ffn.gate), ops_.add_matrix(weights.ffn.up)},
              .down = ops_.add_matrix(weights.ffn.down)};
  if (mixer == MixerKind::kAttention) {
    const AttentionWeights& a = weights.attention;
    layer.attention = {.in = {ops_.add_matrix(a.q), ops_.add_matrix(a.k), ops_.add_matrix(a.v)},
                       .q_norm = ops_.add_vector(a.q_norm),
                       .k_norm = ops_.add_vector(a.k_norm),
                       .out = ops_.add_matrix(a.out)};
  } else {
    const DeltaNetWeights& d = weights.delta_net;
    layer.delta_net = {.in = {ops_.add_matrix(d.qkv), ops_.add_matrix(d.z), ops_.add_matrix(d.b),
                              ops_.add_matrix(d.a)},
                       .conv = ops_.add_vector(d.conv),
                       .a_log = ops_.add_vector(d.a_log),
                       .dt_bias = ops_.add_vector(d.dt_bias),
                       .norm = ops_.add_vector(d.norm),
                       .out = ops_.add_matrix(d.out)};
  }
  return layer;
}

void Transformer::forward(const Pass& pass, std::span<const int32_t> logit_rows) {
  ops_.embed(pass, embedding_, Act::kResidual);
  for (const Layer& layer : layers_) run_layer(pass, layer);
  ops_.norm(pass, {.x = Act::kResidual, .weight = norm_, .out = Act::kNormed});
  if (logit_rows.empty()) return;
  ops_.select_rows(Act::kNormed, logit_rows, Act::kSelected);
  ops_.project({.x = Act::kSelected,
                .weights = {&head_, 1},
                .out = Act::kLogits,
                .n_rows = static_cast<int32_t>(logit_rows.size())});
}

void Transformer::run_layer(const Pass& pass, const Layer& layer) {
  const int32_t n_rows = pass.n_rows();
  const bool is_attention = layer.mixer == MixerKind::kAttention;
  const std::vector<MatrixRef>& in = is_attention ? layer.attention.in : layer.delta_net.in;
  const MatrixRef& out = is_attention ? layer.attention.out : layer.delta_net.out;

  ops_.project({.x = Act::kResidual,
                .norm = layer.input_norm,
                .weights = in,
                .out = Act::kProjected,
                .n_rows = n_rows});
  if (is_attention) {
    ops_.attention(pass, {.kv_layer = layer.mixer_index,
                          .q_norm = layer.attention.q_norm,
                          .k_norm = layer.attention.k_norm});
  } else {
    run_delta_net(pass, layer);
  }
  ops_.project({.x = Act::kMixed,
                .weights = {&out, 1},
                .epilogue = Epilogue::kAddResidual,
                .out = Act::kResidual,
                .n_rows = n_rows});

  ops_.project({.x = Act::kResidual,
                .norm = layer.post_attention_norm,
                .weights = layer.gate_up,
                .epilogue = Epilogue::kSiluMul,
                .out = Act::kFfn,
                .n_rows = n_rows});
  ops_.project({.x = Act::kFfn,
                .weights = {&layer.down, 1},
                .epilogue = Epilogue::kAddResidual,
                .out = Act::kResidual,
                .n_rows = n_rows});
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
  for (const Layer& layer : layers_) {
    if (layer.mixer == MixerKind::kDeltaNet) run_delta_net(pass, layer);
  }
}

// kResidual = fusion [ norm(embedding) | norm(hidden) ], specification 5.1.
void Transformer::fuse(const Pass& pass) {
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
                .out_column = q_and_gate_width_,
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
