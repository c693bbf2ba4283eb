// Vectors as values, on GCC vector extensions: eight floats everywhere, and Wide, as many as the
// instruction set has. Everything here and in the *_inl.h files has
// internal linkage: each instruction set compiles its own copy, and the linker must never merge two
// of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tensor/dtype.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace slip::cpu {
namespace {

using F8 = float __attribute__((vector_size(32)));
using I8 = int32_t __attribute__((vector_size(32)));

#if defined(__AVX512F__)
constexpr int32_t kWideLanes = 16;
#else
constexpr int32_t kWideLanes = 8;
#endif
using Wide = float __attribute__((vector_size(4 * kWideLanes)));
using WideInts = int32_t __attribute__((vector_size(4 * kWideLanes)));

// As many integers, and halves of them, as V has floats.
using U16x8 = uint16_t __attribute__((vector_size(16)));
using WideHalves = uint16_t __attribute__((vector_size(2 * kWideLanes)));
template <class V>
using IntsOf = std::conditional_t<sizeof(V) == sizeof(I8), I8, WideInts>;
template <class V>
using HalvesOf = std::conditional_t<sizeof(V) == sizeof(I8), U16x8, WideHalves>;

template <class Vector>
inline Vector load_as(const void* from) {
  Vector value;
  __builtin_memcpy(&value, from, sizeof(Vector));
  return value;
}

template <class V = F8>
inline V load(const float* from) {
  return load_as<V>(from);
}
template <class V>
inline void store(float* to, V value) {
  __builtin_memcpy(to, &value, sizeof value);
}
template <class V = F8>
inline V splat(float x) {
  return x - V{};  // x + 0 would lose the sign of zero
}

// a * b + c. One rounding where the instruction set has it, two elsewhere: a table is equal to
// itself, not to its siblings.
inline F8 fma(F8 a, F8 b, F8 c) {
#if defined(__AVX2__) && defined(__FMA__)
  return _mm256_fmadd_ps(a, b, c);
#else
  return a * b + c;
#endif
}

#if defined(__AVX512F__)
inline Wide fma(Wide a, Wide b, Wide c) { return _mm512_fmadd_ps(a, b, c); }
#endif

// Eight or sixteen unsigned bytes as integers. The compiler's own conversion takes bytes through
// general registers.
template <class Ints = I8>
inline Ints widen_bytes(const void* from) {
#if defined(__AVX512F__)
  if constexpr (sizeof(Ints) == sizeof(__m512i)) {
    const __m128i bytes = _mm_loadu_si128(static_cast<const __m128i*>(from));
    return reinterpret_cast<Ints>(_mm512_cvtepu8_epi32(bytes));
  } else {
    return reinterpret_cast<Ints>(_mm256_cvtepu8_epi32(_mm_loadu_si64(from)));
  }
#elif defined(__AVX2__)
  return reinterpret_cast<Ints>(_mm256_cvtepu8_epi32(_mm_loadu_si64(from)));
#else
  using U8x16 = uint8_t __attribute__((vector_size(16)));
  U8x16 bytes{}, halves[2];
  __builtin_memcpy(&bytes, from, 8);
  // Element 16 is a zero of the second vector.
  halves[0] = __builtin_shufflevector(bytes, U8x16{}, 0, 16, 16, 16, 1, 16, 16, 16, 2, 16, 16, 16,
                                      3, 16, 16, 16);
  halves[1] = __builtin_shufflevector(bytes, U8x16{}, 4, 16, 16, 16, 5, 16, 16, 16, 6, 16, 16, 16,
                                      7, 16, 16, 16);
  return load_as<Ints>(halves);
#endif
}

// Values of a file, as floats.
inline F8 load_f32(const std::byte* from) { return load_as<F8>(from); }

template <class V = F8>
inline V load_bf16(const std::byte* from) {
  const IntsOf<V> bits = __builtin_convertvector(load_as<HalvesOf<V>>(from), IntsOf<V>) << 16;
  return load_as<V>(&bits);
}

inline F8 load_f16(const std::byte* from) {
#if defined(__F16C__)
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
#else
  uint16_t halves[8];
  __builtin_memcpy(halves, from, sizeof halves);
  F8 values;
  for (int i = 0; i < 8; ++i) values[i] = half_to_float(halves[i]);
  return values;
#endif
}

// tensor/dtype.h says what E4M3 is. A subnormal is its mantissa times 2^-9; taking it through a
// subnormal float instead costs some processors a trap for each vector.
template <class V = F8>
inline V load_e4m3(const std::byte* from) {
  using Ints = IntsOf<V>;
  const auto codes = widen_bytes<Ints>(from);
  const Ints magnitude = codes & 0x7F;
  const Ints normal = (magnitude << 20) + (120 << 23);
  const V subnormal = __builtin_convertvector(magnitude, V) * splat<V>(0x1p-9f);
  Ints bits = magnitude < 8 ? load_as<Ints>(&subnormal) : normal;
  bits |= (codes & 0x80) << 24;
  bits |= (magnitude == 0x7F) & 0x7FC00000;
  return load_as<V>(&bits);
}

// Eight codes of kBits bits, lowest bits first, from kBits bytes; nothing beyond them is read.
template <int kBits>
inline I8 unpack_codes(const std::byte* from) {
  if constexpr (kBits == 8) {
    return widen_bytes(from);
  } else {
    // Lanes 0 to 3 lie in the first four bytes, 4 to 7 in the last four: the same ones up to 4
    // bits.
    constexpr int kLoaded = std::min(kBits, 4);
    constexpr int kSkipped = kBits - kLoaded;
    constexpr uint32_t kFirst = 4 * kBits - 8 * kSkipped;  // bit of lane 4
    uint32_t low = 0;
    uint32_t high = 0;
    __builtin_memcpy(&low, from, kLoaded);
    __builtin_memcpy(&high, from + kSkipped, kLoaded);
    using U8 = uint32_t __attribute__((vector_size(32)));
    constexpr U8 kShifts = {0,      kBits,          2 * kBits,          3 * kBits,
                            kFirst, kFirst + kBits, kFirst + 2 * kBits, kFirst + 3 * kBits};
    const U8 words = {low, low, low, low, high, high, high, high};
    return reinterpret_cast<I8>((words >> kShifts) & ((1u << kBits) - 1));
  }
}

// One BF16 in every lane: its bits are the upper half of a float's.
inline F8 splat_bf16(const void* from) {
  const auto bits = load_as<int16_t>(from);
#if defined(__AVX2__)
  return reinterpret_cast<F8>(_mm256_slli_epi32(_mm256_set1_epi16(bits), 16));
#else
  const I8 shifted = I8{bits, bits, bits, bits, bits, bits, bits, bits} << 16;
  return load_as<F8>(&shifted);
#endif
}

// NaN in `a` gives b.
template <class V>
inline V maximum(V a, V b) {
  return a > b ? a : b;
}

// [a0+a1, a2+a3, b0+b1, b2+b3 | a4+a5, a6+a7, b4+b5, b6+b7]
inline F8 add_pairs(F8 a, F8 b) {
  return __builtin_shufflevector(a, b, 0, 2, 8, 10, 4, 6, 12, 14) +
         __builtin_shufflevector(a, b, 1, 3, 9, 11, 5, 7, 13, 15);
}

using F4 = float __attribute__((vector_size(16)));

// The sums of four vectors, each by the tree ((0+1)+(2+3)) + ((4+5)+(6+7)).
inline F4 sum_each(F8 a, F8 b, F8 c, F8 d) {
  const F8 halves = add_pairs(add_pairs(a, b), add_pairs(c, d));
  F4 low, high;
  __builtin_memcpy(&low, &halves, sizeof low);
  __builtin_memcpy(&high, reinterpret_cast<const char*>(&halves) + sizeof low, sizeof high);
  return low + high;
}

inline float sum(F8 a) { return sum_each(a, a, a, a)[0]; }
#if defined(__AVX512F__)
inline float sum(Wide a) {
  return sum(load_as<F8>(&a) + load_as<F8>(reinterpret_cast<float*>(&a) + 8));
}
#endif

template <class V>
inline float largest(V a) {
  float best = a[0];
  for (size_t i = 1; i < sizeof(V) / sizeof(float); ++i) best = a[i] > best ? a[i] : best;
  return best;
}

}  // namespace
}  // namespace slip::cpu
