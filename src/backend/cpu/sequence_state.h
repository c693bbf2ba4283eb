// The memory of one sequence on the CPU. Owned by CpuStates; the ops read and write it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/batch.h"
#include "backend/cpu/kv_layout.h"
#include "model/config.h"
#include "tensor/buffer.h"

namespace slip::cpu {

// Shapes of the per-sequence buffers, from the configuration.
struct StateLayout {
  KvLayout kv;
  int32_t n_trunk_kv_layers = 0;  // the first of kv.n_layers
  int32_t n_recurrent_layers = 0;
  int32_t hidden_size = 0;
  DeltaNetConfig delta_net;

  StateLayout(const ModelConfig& config, const KvFormat& format);

  // Floats of one layer. The recurrent state is [n_value_heads, value_dim / 32, key_dim, 32]: a
  // strip of 32 value columns is independent of the others and, with 128 keys, fits the first-level
  // cache. value_dim is a multiple of 32.
  size_t recurrent_floats() const;
  size_t conv_floats()
      const;  // [conv_kernel - 1, conv_channels], inputs of the convolution, oldest first
  int32_t kept_width()
      const;  // conv_channels + 2 * n_value_heads: [q|k|v before convolution | decay exp(g) | beta]
  size_t kept_floats() const;  // [kDraftTokensMax, kept_width]

  // Tokens that KV layer `layer` holds in a stored state.
  int32_t cached_tokens(int32_t layer, int32_t n_committed, bool keeps_draft_history) const;

  int64_t n_bytes() const;  // of one state, its cache blocks and hidden rows excluded
};

inline constexpr int32_t kStripColumns = 32;

struct SequenceState {
  std::vector<std::byte*> blocks;  // cache block i holds positions [64 i, 64 i + 64)

  FloatBuffer recurrent;  // [n_recurrent_layers, recurrent_floats], up to position n_folded
  FloatBuffer conv;       // [n_recurrent_layers, conv_floats]
  FloatBuffer
      kept;  // [n_recurrent_layers, kDraftTokensMax, kept_width], rows from position n_folded on
};

}  // namespace slip::cpu
