// Rows of floats in tests: random ones, and how they are compared.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"

namespace slip::test {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Standard normal, the same for the same seed: a window into one drawn list, since drawing anew
// takes longer than the operations.
inline void fill_random(std::span<float> to, uint64_t seed, float scale = 1.0f) {
  constexpr size_t kDrawn = 65537;  // prime, so that windows of different seeds differ
  static const std::vector<float> drawn = [] {
    std::vector<float> values(kDrawn);
    for (size_t i = 0; i < kDrawn; ++i) values[i] = normal(1, i, Draw::kTest);
    return values;
  }();
  size_t at = seed * 40503 % kDrawn;
  for (float& x : to) {
    x = scale * drawn[at];
    at = at + 1 == kDrawn ? 0 : at + 1;
  }
}

inline std::vector<float> random_floats(size_t n, uint64_t seed, float scale = 1.0f) {
  std::vector<float> values(n);
  fill_random(values, seed, scale);
  return values;
}

// Every element within `tolerance` of itself and of the reference's root mean square; NaN exactly
// where the reference has it.
inline void expect_close(std::span<const float> found, std::span<const float> wanted,
                         double tolerance, const std::string& what) {
  ASSERT_EQ(found.size(), wanted.size());
  double sum = 0;
  size_t n = 0;
  for (const float w : wanted) {
    if (std::isnan(w)) continue;
    sum += static_cast<double>(w) * static_cast<double>(w);
    ++n;
  }
  const double typical = std::sqrt(sum / static_cast<double>(std::max<size_t>(n, 1)));
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (std::isnan(wanted[i]) && std::isnan(found[i])) continue;
    const double error = std::abs(static_cast<double>(found[i]) - static_cast<double>(wanted[i]));
    ASSERT_LE(error, tolerance * (typical + std::abs(static_cast<double>(wanted[i]))))
        << what << ": element " << i << " is " << found[i] << ", wanted " << wanted[i];
  }
}

inline bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

}  // namespace slip::test
