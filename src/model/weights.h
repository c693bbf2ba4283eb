// The tensors of a checkpoint in the places where the forward pass wants them.
#pragma once

#include <vector>

#include "io/model_file.h"
#include "model/config.h"
#include "tensor/quant.h"

namespace slip {

// Norm weights are stored ready to multiply: a zero-centred weight has had its one added
// (specification 3.1).
using Vector = std::vector<float>;

struct AttentionWeights {
  WeightView q;  // [n_heads * 2 * head_dim, hidden_size], per head: query rows, then gate rows
  WeightView k, v;
  WeightView out;
  Vector q_norm, k_norm;  // [head_dim]
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

struct LayerWeights {
  Vector input_norm, post_attention_norm;  // [hidden_size]
  AttentionWeights attention;              // filled for MixerKind::kAttention
  DeltaNetWeights delta_net;               // filled for MixerKind::kDeltaNet
  FfnWeights ffn;
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

// A model described by its family: configuration and weights, both checked.
struct LoadedModel {
  ModelConfig config;
  ModelWeights weights;
};

// Reads `config.json` and finds every tensor. Throws Error{kUnsupportedModel} for a model_type that
// no family claims or a feature that is not there, Error{kCorruptFile} for a tensor that is missing
// or has another shape or type; one sentence naming the tensor or key, what was found and what was
// wanted. Tensors that nothing asked for are logged by name.
LoadedModel load_model(const ModelFile& file);

}  // namespace slip
