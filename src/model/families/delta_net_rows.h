// Where the rows of the four delta-net projections lie in the fused ones of `qwen3_next`
// (specification 4.8).
#pragma once

#include <cstdint>
#include <vector>

#include "model/config.h"

namespace slip {

// Row i of a projection is row [i] of the fused matrix.
struct DeltaNetRows {
  std::vector<int32_t> qkv, z;  // of in_proj_qkvz: for each key head q | k | v of its heads | z
  std::vector<int32_t> b, a;    // of in_proj_ba: for each key head b of its heads | a
};

DeltaNetRows delta_net_rows(const DeltaNetConfig& config);

}  // namespace slip
