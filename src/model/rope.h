// Rotary position embedding as numbers: whatever scaling a checkpoint names becomes one frequency
// per pair and one magnitude, and nothing behind this file knows the names.
#pragma once

#include <cstdint>
#include <vector>

#include "model/config_reader.h"

namespace slip {

struct Rope {
  std::vector<float> frequencies;  // [rotary_dims / 2] radians per position
  float magnitude = 1;             // multiplies cosine and sine
};

// theta^(-2 i / rotary_dims). Rounded to float as the published models' reference does: at position
// 200,000 that rounding is worth a hundredth of a radian.
Rope default_rope(int32_t rotary_dims, double theta);

// What a configuration says, in `rope_parameters` or the older `rope_scaling` and the keys beside
// them: rope_type "default", "llama3" or "yarn". Throws Error{kUnsupportedModel} naming the key.
//   head_dim          rotary_dims = head_dim * partial_rotary_factor
//   partial_fallback  that factor where no key gives it
//   theta_fallback    rope_theta where no key gives it
Rope parse_rope(const ConfigReader& text, int32_t head_dim, double partial_fallback,
                double theta_fallback);

}  // namespace slip
