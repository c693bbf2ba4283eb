// Exponentials on eight floats, within 2 ulp over the whole range.
#pragma once

#include "backend/cpu/kernels/simd.h"

namespace slip::cpu {
namespace {

// 2^n for n in [-126, 127].
inline F8 power_of_two(I8 n) {
  const I8 bits = (n + 127) << 23;
  return load_as<F8>(&bits);
}

// e^x = 2^n e^r with |r| <= ln(2) / 2, where eight terms of the Taylor series leave 5e-9. Overflow
// gives infinity, NaN stays NaN.
inline F8 exp(F8 x) {
  constexpr float kLowest = -110.0f,
                  kHighest = 90.0f;      // beyond them the result is 0 or infinity anyway
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it leaves an integer in the low bits
  constexpr float kLn2High = 0.693359375f;  // few bits, so that n * kLn2High is exact
  constexpr float kLn2Low = -2.12194440054690583e-4f;
  x = x < splat(kLowest) ? splat(kLowest) : x;
  x = x > splat(kHighest) ? splat(kHighest) : x;
  const F8 shifted = fma(x, splat(1.44269504088896341f), splat(kRound));
  const F8 n = shifted - splat(kRound);
  const F8 r = fma(n, splat(-kLn2Low), fma(n, splat(-kLn2High), x));
  F8 p = splat(1.0f / 5040);
  for (const float c : {1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 1.0f / 2, 1.0f, 1.0f})
    p = fma(p, r, splat(c));
  const F8 zero = splat(kRound);
  const I8 exponent = load_as<I8>(&shifted) - load_as<I8>(&zero);
  const I8 half =
      exponent >> 1;  // in two factors, so that subnormal results and 2^128 come out right
  return p * power_of_two(half) * power_of_two(exponent - half);
}

inline F8 sigmoid(F8 x) { return splat(1.0f) / (splat(1.0f) + exp(-x)); }
inline F8 silu(F8 x) { return x / (splat(1.0f) + exp(-x)); }
inline float exp(float x) { return exp(splat(x))[0]; }

}  // namespace
}  // namespace slip::cpu
