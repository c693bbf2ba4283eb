// Cosines and sines of rotary position embedding (specification 4.4), shared by every
// implementation of Ops: the angle is part of the definition, its rounding included.
#pragma once

#include <cstdint>
#include <span>

#include "model/config.h"

namespace slip::cpu {

class Rotary {
 public:
  explicit Rotary(const AttentionConfig& config) : rope_(config.rope) {}

  int32_t n_pairs() const { return static_cast<int32_t>(rope_.frequencies.size()); }

  // magnitude times cos and sin of position * frequencies[i] for every pair i. The angle is rounded
  // to float, as the published models' reference does.
  //   cos, sin  [n_pairs]
  void turn(int32_t position, std::span<float> cos, std::span<float> sin) const;

 private:
  Rope rope_;
};

}  // namespace slip::cpu
