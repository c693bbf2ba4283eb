#include "model/ops.h"

#include <algorithm>

#include "base/check.h"

namespace slip {

int32_t projected_width(const ModelConfig& config) {
  const AttentionConfig& a = config.attention;
  const DeltaNetConfig& d = config.delta_net;
  return std::max(a.queries_width() + 2 * a.kv_width(),
                  d.conv_channels() + d.value_width() + 2 * d.n_value_heads);
}

int32_t mixed_width(const ModelConfig& config) {
  return std::max(config.attention.q_width(), config.delta_net.value_width());
}

int32_t act_width(const ModelConfig& config, Act act) {
  switch (act) {
    case Act::kResidual:
    case Act::kNormed:
    case Act::kSelected:
    case Act::kHidden:
      return config.hidden_size;
    case Act::kProjected:
      return projected_width(config);
    case Act::kMixed:
      return mixed_width(config);
    case Act::kFfn:
      return config.intermediate_size;
    case Act::kFusion:
      return 2 * config.hidden_size;
    case Act::kLogits:
      return config.vocab_size;
  }
  SLIP_CHECK(false);
}

int32_t act_rows(const OpsPlan& plan, Act act) {
  if (act == Act::kSelected || act == Act::kLogits) return plan.logit_rows_max;
  return act == Act::kHidden ? plan.hidden_rows_max : plan.batch_rows_max;
}

}  // namespace slip
