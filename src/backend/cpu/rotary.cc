#include "backend/cpu/rotary.h"

#include <cmath>

namespace slip::cpu {

Rotary::Rotary(const AttentionConfig& config) {
  for (int32_t i = 0; i < config.rotary_dims / 2; ++i) {
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(config.rotary_dims);
    frequencies_.push_back(
        1.0f / static_cast<float>(std::pow(config.rope_theta, static_cast<double>(exponent))));
  }
}

void Rotary::turn(int32_t position, std::span<float> cos, std::span<float> sin) const {
  for (size_t i = 0; i < frequencies_.size(); ++i) {
    const float angle = static_cast<float>(position) * frequencies_[i];
    cos[i] = static_cast<float>(std::cos(static_cast<double>(angle)));
    sin[i] = static_cast<float>(std::sin(static_cast<double>(angle)));
  }
}

}  // namespace slip::cpu
