// The tensors of every family: names as Hugging Face and MLX publish them (specification sections 7
// and 8). What differs between families is in NameMap.
#pragma once

#include <string>
#include <vector>

#include "model/config.h"
#include "model/tensor_finder.h"
#include "model/weights.h"

namespace slip {

struct NameMap {
  // Norm weights are used as 1 + w, and stored either way: around 0 by Hugging Face, with the one
  // added by MLX converters (specification 3.1, 8.1).
  bool has_zero_centred_norms = false;
  // in_proj_qkvz and in_proj_ba, interleaved by key head, instead of four projections
  // (specification 4.8).
  bool has_fused_delta_net = false;
};

ModelWeights find_weights(const ModelConfig& config, const NameMap& names, TensorFinder& finder);

}  // namespace slip
