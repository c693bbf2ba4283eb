// The one place that states the order of a layer. Everything device-specific is behind Ops.
#pragma once

#include <vector>

#include "model/config.h"
#include "model/ops.h"
#include "model/weights.h"

namespace slip {

class Transformer {
 public:
  // Registers every weight with `ops`, which outlives this object.
  Transformer(const LoadedModel& model, Ops& ops);

  // Runs the trunk: kNormed holds the final hidden state of every row, kLogits the logits of those
  // that `logit_rows` names.
  //   logit_rows  from rows of the pass to rows of kLogits, which are 0, 1, ...
  void forward(const Pass& pass, std::span<const RowCopy> logit_rows);

  // Brings the recurrent states of segments without rows up to what their sequences accepted;
  // nothing else happens.
  void fold(const Pass& pass);

  // Draft head, cache only: for entry i of a sequence, given token i + 1 in `pass.tokens` and
  // hidden state i in kNormed, appends k and v of the entry to the head's KV layer. One layer deep,
  // so nothing else of the entry is ever read.
  void append_draft_history(const Pass& pass);

  // Draft head, whole: as above, and kNormed becomes the head's own hidden state, kLogits the
  // logits of every row.
  void draft(const Pass& pass);

 private:
  struct Attention {
    std::vector<MatrixRef> in;  // q, k, v
    VectorRef bias, q_norm, k_norm;
    MatrixRef out;
  };
  struct DeltaNet {
    std::vector<MatrixRef> in;  // qkv, z, b, a
    VectorRef conv, a_log, dt_bias, norm;
    MatrixRef out;
  };
  struct Experts {
    MatrixRef router, shared_gate;
    ExpertsRef networks;
  };
  struct Layer {
    MixerKind mixer;
    FfnKind ffn_kind;
    int32_t mixer_index;  // among the layers of its mixer's kind
    VectorRef input_norm, post_attention_norm;
    Attention attention;
    DeltaNet delta_net;
    FfnRefs ffn;
    Experts experts;
  };
  struct DraftHead {
    VectorRef embedding_norm, hidden_norm, norm;
    MatrixRef fusion;
    Layer layer;
  };

  Layer add_layer(const LayerWeights& weights, LayerConfig config, int32_t mixer_index);
  Attention add_attention(const AttentionWeights& weights);
  DeltaNet add_delta_net(const DeltaNetWeights& weights);
  FfnRefs add_ffn(const FfnWeights& weights);
  Experts add_experts(const ExpertsWeights& weights);
  MatrixRef add_matrix(const WeightView& weight, MatrixUse use = MatrixUse::kProduct);
  VectorRef add_vector(const Vector& values);

  void run_layer(const Pass& pass, const Layer& layer);
  void run_attention(const Pass& pass, const Layer& layer);
  void run_ffn(const Pass& pass, const Layer& layer);
  void run_delta_net(const Pass& pass, const Layer& layer);
  void fuse(const Pass& pass);

  Ops& ops_;
  int32_t hidden_size_, queries_width_;
  MatrixRef embedding_, head_;
  std::vector<Layer> layers_;
  VectorRef norm_;
  DraftHead draft_head_{};
};

}  // namespace slip
