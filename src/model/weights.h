// The tensors of a checkpoint in the places where the forward pass wants them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "io/model_file.h"
#include "model/config.h"
#include "tensor/quant.h"

namespace slip {

// Norm weights are stored ready to multiply: a zero-centred weight has had its one added
// (specification 3.1).
using Vector = std::vector<float>;

struct AttentionWeights {
  WeightView
      q;  // [queries_width, hidden_size], per head: query rows, then gate rows if there is one
  WeightView k, v;
  WeightView out;
  Vector q_norm, k_norm;  // [head_dim]; empty where there are no head norms
  Vector bias;            // [queries_width + 2 * kv_width], of q, k, v; empty where there is none
};

struct DeltaNetWeights {
  WeightView qkv;   // [conv_channels, hidden_size]
  WeightView z;     // [value_width, hidden_size]
  WeightView b, a;  // [n_value_heads, hidden_size]
  WeightView out;
  Vector conv;            // [conv_channels, conv_kernel], the last tap multiplies the current token
  Vector a_log, dt_bias;  // [n_value_heads]
  Vector norm;            // [value_dim], one-centred as stored
};

struct FfnWeights {
  WeightView gate, up, down;
};

struct ExpertsWeights {
  WeightView router;                // [n_experts, hidden_size]
  std::vector<FfnWeights> experts;  // [n_experts]
  FfnWeights shared;                // without data where there is no shared expert
  WeightView shared_gate;           // [1, hidden_size]
};

struct LayerWeights {
  Vector input_norm, post_attention_norm;  // [hidden_size]
  AttentionWeights attention;              // filled for MixerKind::kAttention
  DeltaNetWeights delta_net;               // filled for MixerKind::kDeltaNet
  FfnWeights ffn;                          // filled for FfnKind::kDense
  ExpertsWeights experts;                  // filled for FfnKind::kExperts
};

struct DraftHeadWeights {
  Vector embedding_norm, hidden_norm;  // [hidden_size]
  WeightView fusion;                   // [hidden_size, 2 * hidden_size], embedding columns first
  LayerWeights layer;                  // attention
  Vector norm;
};

struct ModelWeights {
  WeightView embedding;  // [vocab_size, hidden_size]
  std::vector<LayerWeights> layers;
  Vector norm;
  WeightView head;              // the embedding itself where they are tied
  DraftHeadWeights draft_head;  // filled where config.has_draft_head
};

// Bytes that a view points at and no file holds: rows in another order than the file has them.
// Views stay valid when it moves.
using OwnedBytes = std::deque<std::vector<std::byte>>;

// A model described by its family: configuration and weights, both checked.
struct LoadedModel {
  ModelConfig config;
  ModelWeights weights;
  OwnedBytes owned;                 // outlives every copy of a view in `weights`
  std::vector<std::string> unused;  // names of tensors that nothing asked for, in order
};

// Calls visit(matrix) for every matrix of a network or a layer, those that it does not have
// included (no data); the routed experts of a layer are left to the caller.
template <class Visit>
void for_each_matrix(const FfnWeights& ffn, Visit visit) {
  for (const WeightView* matrix : {&ffn.gate, &ffn.up, &ffn.down}) visit(*matrix);
}
template <class Visit>
void for_each_matrix(const LayerWeights& layer, Visit visit) {
  const AttentionWeights& a = layer.attention;
  const DeltaNetWeights& d = layer.delta_net;
  const ExpertsWeights& e = layer.experts;
  for (const WeightView* matrix :
       {&a.q, &a.k, &a.v, &a.out, &d.qkv, &d.z, &d.b, &d.a, &d.out, &e.router, &e.shared_gate})
    visit(*matrix);
  for_each_matrix(layer.ffn, visit);
  for_each_matrix(e.shared, visit);
}

// Bytes of all matrices, each counted once.
int64_t matrix_bytes(const LoadedModel& model);

// Bytes of the matrices that a decode step of one row reads: of the experts those that it chooses.
int64_t step_matrix_bytes(const LoadedModel& model);

// What config.json alone says, and whether the file has a draft head. Throws
// Error{kUnsupportedModel} as load_model does.
ModelConfig read_config(const ModelFile& file);

// Reads `config.json` and finds every tensor. Throws Error{kUnsupportedModel} for a model_type that
// no family claims or a feature that is not there, Error{kCorruptFile} for a tensor that is missing
// or has another shape or type; one sentence naming the tensor or key, what was found and what was
// wanted. Tensors that nothing asked for are logged by name.
LoadedModel load_model(const ModelFile& file);

}  // namespace slip
