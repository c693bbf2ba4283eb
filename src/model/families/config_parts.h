// Pieces of config.json that several families spell alike. Every function throws
// Error{kUnsupportedModel} naming the key, the value found and the value wanted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/config.h"
#include "model/config_reader.h"

namespace slip {

// Far above every published model; keeps products of two of them inside 64 bits and hostile files
// out of memory.
inline constexpr int32_t kSizeMax = 1 << 20;
inline constexpr int32_t kLayersMax = 1024;

// The object with the text model's keys: `text_config` where there is one.
ConfigReader text_reader(const ConfigReader& root);

// model_type, sizes of the vocabulary, the stream and the context, epsilon, tied embeddings.
// Refuses activations other than silu.
ModelConfig parse_sizes(const ConfigReader& root, const ConfigReader& text);

// num_attention_heads, num_key_value_heads (absent: the same) and head_dim, checked.
//   head_dim_fallback  0: hidden_size / num_attention_heads
AttentionConfig parse_heads(const ConfigReader& text, int32_t hidden_size,
                            int32_t head_dim_fallback);

// num_experts and its companions.
//   renormalise_fallback  where norm_topk_prob is absent
ExpertsConfig parse_experts(const ConfigReader& text, bool renormalise_fallback);

// What the families with delta nets have alike: gated attention with head norms, of which a quarter
// is rotated where no key says otherwise, in every fourth layer or where layer_types says; delta
// nets (linear_* keys) in the others.
void parse_hybrid_mixers(const ConfigReader& text, double rope_theta_fallback, ModelConfig& config);

// Attention in every layer; layer_types, where it is present, has to agree. Refuses sliding
// windows.
std::vector<LayerConfig> parse_attention_layers(const ConfigReader& text);

// Experts in layer i unless mlp_only_layers names it or decoder_sparse_step passes it over.
void place_experts(const ConfigReader& text, std::vector<LayerConfig>& layers);

// intermediate_size, which only dense layers have; 0 where there are none.
int32_t parse_intermediate_size(const ConfigReader& text, const ModelConfig& config);

}  // namespace slip
