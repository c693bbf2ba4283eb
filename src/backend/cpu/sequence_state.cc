#include "backend/cpu/sequence_state.h"

#include <algorithm>

#include "backend/sequence_progress.h"

namespace slip::cpu {

StateLayout::StateLayout(const ModelConfig& config, const KvFormat& format)
    : kv{.n_layers = config.n_kv_layers(),
         .n_kv_heads = config.attention.n_kv_heads,
         .head_dim = config.attention.head_dim,
         .format = format},
      n_trunk_kv_layers(config.n_layers(MixerKind::kAttention)),
      n_recurrent_layers(config.n_layers(MixerKind::kDeltaNet)),
      hidden_size(config.hidden_size),
      delta_net(config.delta_net) {}

size_t StateLayout::recurrent_floats() const {
  return static_cast<size_t>(delta_net.value_width()) * static_cast<size_t>(delta_net.key_dim);
}

size_t StateLayout::conv_floats() const {
  return static_cast<size_t>(std::max(0, delta_net.conv_kernel - 1)) *
         static_cast<size_t>(delta_net.conv_channels());
}

int32_t StateLayout::kept_width() const {
  return delta_net.conv_channels() + 2 * delta_net.n_value_heads;
}

size_t StateLayout::kept_floats() const {
  return static_cast<size_t>(kDraftTokensMax) * static_cast<size_t>(kept_width());
}

int32_t StateLayout::cached_tokens(int32_t layer, int32_t n_committed,
                                   bool keeps_draft_history) const {
  return stored_cache_tokens(n_committed, layer >= n_trunk_kv_layers, keeps_draft_history);
}

int64_t StateLayout::n_bytes() const {
  const size_t per_layer = recurrent_floats() + conv_floats() + kept_floats();
  return static_cast<int64_t>(static_cast<size_t>(n_recurrent_layers) * per_layer * sizeof(float));
}

}  // namespace slip::cpu
