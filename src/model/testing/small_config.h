// A model of two layers, one of each mixer, for tests that make one in memory.
#pragma once

#include "model/config.h"

namespace slip::test {

// Layers with 4 experts, of which a token chooses one, and none that all share.
inline ModelConfig small_config() {
  return {.family = "qwen3_5_moe",
          .vocab_size = 256,
          .hidden_size = 128,
          .context_tokens_max = 4096,
          .rms_norm_eps = 1e-6f,
          .attention = {.n_heads = 2,
                        .n_kv_heads = 1,
                        .head_dim = 32,
                        .rope = default_rope(8, 1e4),
                        .has_output_gate = true,
                        .has_head_norms = true},
          .delta_net = {.n_key_heads = 2,
                        .n_value_heads = 4,
                        .key_dim = 32,
                        .value_dim = 32,
                        .conv_kernel = 4},
          .experts = {.n_experts = 4, .n_experts_per_token = 1, .intermediate_size = 64},
          .layers = {{MixerKind::kDeltaNet, FfnKind::kExperts},
                     {MixerKind::kAttention, FfnKind::kExperts}}};
}

}  // namespace slip::test
