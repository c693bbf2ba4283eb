// Exponentials on vectors of floats, within 2 ulp over the whole range.
#pragma once

#include "backend/cpu/kernels/simd.h"

namespace slip::cpu {
namespace {

// 2^n for n in [-126, 127].
template <class V, class Ints>
inline V power_of_two(Ints n) {
  const Ints bits = (n + 127) << 23;
  return load_as<V>(&bits);
}

// e^x = 2^n e^r with |r| <= ln(2) / 2, where eight terms of the Taylor series leave 5e-9. Overflow
// gives infinity, NaN stays NaN.
template <class V, class Ints>
inline V exp_vector(V x) {
  const auto splat = [](float value) { return slip::cpu::splat<V>(value); };
  constexpr float kLowest = -110.0f,
                  kHighest = 90.0f;      // beyond them the result is 0 or infinity anyway
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it leaves an integer in the low bits
  constexpr float kLn2High = 0.693359375f;  // few bits, so that n * kLn2High is exact
  constexpr float kLn2Low = -2.12194440054690583e-4f;
  x = x < splat(kLowest) ? splat(kLowest) : x;
  x = x > splat(kHighest) ? splat(kHighest) : x;
  const V shifted = fma(x, splat(1.44269504088896341f), splat(kRound));
  const V n = shifted - splat(kRound);
  const V r = fma(n, splat(-kLn2Low), fma(n, splat(-kLn2High), x));
  V p = splat(1.0f / 5040);
  for (const float c : {1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 1.0f / 2, 1.0f, 1.0f})
    p = fma(p, r, splat(c));
  const V zero = splat(kRound);
  const Ints exponent = load_as<Ints>(&shifted) - load_as<Ints>(&zero);
  const Ints half =
      exponent >> 1;  // in two factors, so that subnormal results and 2^128 come out right
  return p * power_of_two<V>(half) * power_of_two<V>(exponent - half);
}
inline F8 exp(F8 x) { return exp_vector<F8, I8>(x); }
#if defined(__AVX512F__)
inline Wide exp(Wide x) { return exp_vector<Wide, WideInts>(x); }
#endif

template <class V>
inline V sigmoid(V x) {
  return splat<V>(1.0f) / (splat<V>(1.0f) + exp(-x));
}
template <class V>
inline V silu(V x) {
  return x / (splat<V>(1.0f) + exp(-x));
}
inline float exp(float x) { return exp(splat(x))[0]; }

// Calls body(V{}, i) for every vector of n elements, wide ones first: n is a multiple of 8.
template <class Body>
inline void for_vectors(int32_t n, Body&& body) {
  int32_t i = 0;
  for (; i + kWideLanes <= n; i += kWideLanes) body(Wide{}, i);
  for (; i < n; i += kLanes) body(F8{}, i);
}

}  // namespace
}  // namespace slip::cpu
