#include "model/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <utility>

namespace slip {

namespace {

constexpr double kContextMax = 1 << 30;
constexpr double kFactorMax = 1e6;

// Slow frequencies are divided by `factor`, fast ones stay, those between are mixed linearly in
// the number of turns that they make in the original context.
// Source: transformers, modeling_rope_utils.py, "llama3".
Rope llama3_rope(const ConfigReader& rope, Rope base) {
  const double factor = rope.number("factor", 1, kFactorMax);
  const double low = rope.number("low_freq_factor", 1e-6, kFactorMax);
  const double high = rope.number("high_freq_factor", 1e-6, kFactorMax);
  const double original = rope.number("original_max_position_embeddings", 1, kContextMax);
  if (high <= low) rope.refuse("high_freq_factor", "more than low_freq_factor");
  for (float& frequency : base.frequencies) {
    const double turns = original * static_cast<double>(frequency) / (2 * std::numbers::pi);
    const double kept = std::clamp((turns - low) / (high - low), 0.0, 1.0);
    frequency = static_cast<float>(frequency * (kept + (1 - kept) / factor));
  }
  return base;
}

double yarn_magnitude(double factor, double scale) {
  return factor <= 1 ? 1 : 0.1 * scale * std::log(factor) + 1;
}

// As llama3, but the mix is linear in the index of the pair, between the pairs that make
// beta_fast and beta_slow turns in the original context; cosine and sine grow with the factor.
// Source: specification 6.8; transformers, modeling_rope_utils.py, "yarn".
Rope yarn_rope(const ConfigReader& text, const ConfigReader& rope, Rope base, double theta) {
  const double original = rope.has("original_max_position_embeddings")
                              ? rope.number("original_max_position_embeddings", 1, kContextMax)
                              : text.number("max_position_embeddings", 1, kContextMax);
  const double factor = rope.number("factor", 1, kFactorMax);
  const auto n_pairs = static_cast<double>(base.frequencies.size());
  const auto pair_of_turns = [&](const char* key, double fallback) {
    const double turns = rope.number_or(key, fallback, 1e-6, kFactorMax);
    return n_pairs * std::log(original / (turns * 2 * std::numbers::pi)) / std::log(theta);
  };
  double first = pair_of_turns("beta_fast", 32);
  double last = pair_of_turns("beta_slow", 1);
  if (rope.boolean_or("truncate", true)) {
    first = std::floor(first);
    last = std::ceil(last);
  }
  first = std::max(first, 0.0);
  last = std::min(last, 2 * n_pairs - 1);
  if (last == first) last += 0.001;
  for (size_t i = 0; i < base.frequencies.size(); ++i) {
    const double divided = std::clamp((static_cast<double>(i) - first) / (last - first), 0.0, 1.0);
    base.frequencies[i] = static_cast<float>(static_cast<double>(base.frequencies[i]) *
                                             (1 - divided + divided / factor));
  }
  const double scale = rope.number_or("mscale", 0, 0, 100);
  const double scale_all = rope.number_or("mscale_all_dim", 0, 0, 100);
  const double magnitude = scale > 0 && scale_all > 0
                               ? yarn_magnitude(factor, scale) / yarn_magnitude(factor, scale_all)
                               : yarn_magnitude(factor, 1);
  base.magnitude = static_cast<float>(rope.number_or("attention_factor", magnitude, 0, 1000));
  return base;
}

}  // namespace

Rope default_rope(int32_t rotary_dims, double theta) {
  Rope rope;
  for (int32_t i = 0; i < rotary_dims / 2; ++i) {
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(rotary_dims);
    rope.frequencies.push_back(1.0f /
                               static_cast<float>(std::pow(theta, static_cast<double>(exponent))));
  }
  return rope;
}

Rope parse_rope(const ConfigReader& text, int32_t head_dim, double partial_fallback,
                double theta_fallback) {
  const bool is_older = !text.has("rope_parameters") && text.has("rope_scaling");
  const nlohmann::json nothing = nlohmann::json::object();
  const ConfigReader rope = is_older                      ? text.child("rope_scaling")
                            : text.has("rope_parameters") ? text.child("rope_parameters")
                                                          : ConfigReader(nothing, "config.json");
  // The nested value wins over the older place beside it.
  const double partial =
      rope.number_or("partial_rotary_factor",
                     text.number_or("partial_rotary_factor", partial_fallback, 0, 1), 0, 1);
  const double theta = rope.number_or(
      "rope_theta", text.number_or("rope_theta", theta_fallback, 1.001, 1e12), 1.001, 1e12);
  const auto rotary_dims = static_cast<int32_t>(partial * head_dim);
  if (rotary_dims % 2 != 0) text.refuse("partial_rotary_factor", "an even number of rotated dims");

  Rope base = default_rope(rotary_dims, theta);
  const char* key = rope.has("rope_type") ? "rope_type" : "type";
  rope.require_text(key, "default", {"default", "llama3", "yarn"});
  const std::string type = rope.text_or(key, "default");
  if (type == "llama3") return llama3_rope(rope, std::move(base));
  if (type == "yarn") return yarn_rope(text, rope, std::move(base), theta);
  return base;
}

}  // namespace slip
