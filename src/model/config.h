// What a model is, as numbers. Filled by model/families from config.json; nothing else reads that
// file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/rope.h"

namespace slip {

enum class MixerKind : uint8_t { kAttention, kDeltaNet };
enum class FfnKind : uint8_t { kDense, kExperts };
enum class ResidualKind : uint8_t { kPlain };     // hyper-connections would be the second
enum class AttentionKind : uint8_t { kDense };    // indexed-sparse would be the second
enum class TokenHistoryKind : uint8_t { kNone };  // n-gram embeddings would be the second

struct AttentionConfig {
  int32_t n_heads = 0;
  int32_t n_kv_heads = 0;  // divides n_heads; query head h reads KV head h / (n_heads / n_kv_heads)
  int32_t head_dim = 0;
  Rope rope;  // of the leading rotary_dims(), half-split pairs (i, i + rotary_dims() / 2)
  bool has_output_gate = false;  // the mixed heads are multiplied by sigmoid of one more projection
  bool has_head_norms = false;   // queries and keys are RMS-normalised per head
  bool has_bias = false;         // of the q, k and v projections

  int32_t rotary_dims() const { return 2 * static_cast<int32_t>(rope.frequencies.size()); }
  int32_t q_width() const { return n_heads * head_dim; }
  int32_t kv_width() const { return n_kv_heads * head_dim; }
  // Columns of a projected query head: its gate lies behind it, where there is one.
  int32_t query_stride() const { return has_output_gate ? 2 * head_dim : head_dim; }
  int32_t queries_width() const { return n_heads * query_stride(); }
};

struct DeltaNetConfig {
  int32_t n_key_heads = 0;
  int32_t n_value_heads = 0;  // value head h uses key head h / (n_value_heads / n_key_heads)
  int32_t key_dim = 0;
  int32_t value_dim = 0;
  int32_t conv_kernel = 0;  // taps of the causal depthwise convolution

  int32_t key_width() const { return n_key_heads * key_dim; }
  int32_t value_width() const { return n_value_heads * value_dim; }
  int32_t conv_channels() const { return 2 * key_width() + value_width(); }  // [q | k | v]
};

// A router chooses some of many small feed-forward networks for each row (specification 4.7).
struct ExpertsConfig {
  int32_t n_experts = 0;
  int32_t n_experts_per_token = 0;
  int32_t intermediate_size = 0;         // of one expert
  int32_t shared_intermediate_size = 0;  // of the expert that every row uses, gated; 0: none
  bool renormalise = true;               // the chosen probabilities are scaled to sum to one
};

struct LayerConfig {
  MixerKind mixer = MixerKind::kAttention;
  FfnKind ffn = FfnKind::kDense;
};

struct ModelConfig {
  std::string family;  // "qwen3_5"
  int32_t vocab_size = 0;
  int32_t hidden_size = 0;
  int32_t intermediate_size = 0;   // of dense layers; 0 where there are none
  int32_t context_tokens_max = 0;  // max_position_embeddings
  float rms_norm_eps = 0;
  bool tie_word_embeddings = false;
  ResidualKind residual = ResidualKind::kPlain;
  AttentionKind attention_kind = AttentionKind::kDense;
  TokenHistoryKind token_history = TokenHistoryKind::kNone;
  AttentionConfig attention;
  DeltaNetConfig delta_net;  // all zero where no layer uses it
  ExpertsConfig experts;     // likewise
  std::vector<LayerConfig> layers;
  FfnKind draft_head_ffn = FfnKind::kDense;
  bool has_draft_head =
      false;  // one more attention layer with its own fusion (specification section 5)

  int32_t n_layers(MixerKind kind) const;
  // Layers that write a KV cache: those of the trunk, then the draft head's.
  int32_t n_kv_layers() const { return n_layers(MixerKind::kAttention) + (has_draft_head ? 1 : 0); }
};

}  // namespace slip
