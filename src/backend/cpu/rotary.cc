#include "backend/cpu/rotary.h"

#include <cmath>

namespace slip::cpu {

void Rotary::turn(int32_t position, std::span<float> cos, std::span<float> sin) const {
  for (size_t i = 0; i < rope_.frequencies.size(); ++i) {
    const float angle = static_cast<float>(position) * rope_.frequencies[i];
    cos[i] = static_cast<float>(std::cos(static_cast<double>(angle))) * rope_.magnitude;
    sin[i] = static_cast<float>(std::sin(static_cast<double>(angle))) * rope_.magnitude;
  }
}

}  // namespace slip::cpu
