// Cosines and sines of rotary position embedding (specification 4.4), shared by every
// implementation of Ops: the angle is part of the definition, its rounding included.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/config.h"

namespace slip::cpu {

class Rotary {
 public:
  explicit Rotary(const AttentionConfig& config);

  int32_t n_pairs() const { return static_cast<int32_t>(frequencies_.size()); }

  // cos and sin of position * theta^(-2 i / rotary_dims) for every pair i. Frequency and angle are
  // rounded to float, as the published models' reference does: at position 200,000 that rounding is
  // worth a hundredth of a radian.
  //   cos, sin  [n_pairs]
  void turn(int32_t position, std::span<float> cos, std::span<float> sin) const;

 private:
  std::vector<float> frequencies_;
};

}  // namespace slip::cpu
