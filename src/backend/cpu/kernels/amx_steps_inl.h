// The steps of attention on AMX: scores of a piece of keys, weights out of scores, weighted values,
// and the requests for what is read next. All of them handle R = 1 or 2 tiles of 16 packed rows.
#pragma once

#include <algorithm>
#include <span>

#include <immintrin.h>

#include "backend/cpu/kernels/amx_tiles.h"
#include "backend/cpu/kernels/kv_plane.h"

namespace slip::cpu {
namespace {

constexpr int32_t kTileLanes = 16;     // packed rows of a tile
constexpr int32_t kGroupTokens = 256;  // a power of two times kTokensPerBlock
// Lane tiles of one pass over a group: two and two tiles of keys make four sums, enough to hide the
// latency of a product. Three tiles were slower: their queries do not stay in the first-level
// cache.
constexpr int32_t kPassTiles = 2;
constexpr int32_t kGroupBlocks = kGroupTokens / kTokensPerBlock;
constexpr int32_t kKeyTile = 16;    // tokens of a key tile
constexpr int32_t kStepDims = 32;   // dims of a key tile
constexpr int32_t kValueTile = 32;  // tokens of a value tile
constexpr int32_t kDimTile = 16;    // dims of a value tile
constexpr int32_t kColumnsPerBlock = kTokensPerBlock / kValueTile;
constexpr size_t kTileFloats = kTileBytes / sizeof(float);

constexpr ptrdiff_t kDimTileStride = kColumnsPerBlock * static_cast<ptrdiff_t>(kTileBytes);

using TileWeights = uint16_t[kGroupTokens * kTileLanes];

// 2^x within 7.5e-5 of itself: 2^floor(x) times a cubic on the rest. 0 for -infinity, NaN stays
// NaN.
inline __m512 exp2_vector(__m512 x) {
  const __m512 rest = _mm512_reduce_ps(x, 0x09);  // x - floor(x), exact
  __m512 p = _mm512_set1_ps(0.07802452266443263f);
  p = _mm512_fmadd_ps(p, rest, _mm512_set1_ps(0.22606715539312927f));
  p = _mm512_fmadd_ps(p, rest, _mm512_set1_ps(0.6958335405064481f));
  p = _mm512_fmadd_ps(p, rest, _mm512_set1_ps(0.99992521856401f));
  return _mm512_scalef_ps(p, x);
}

// Transposes 16 x 16 elements of four bytes.
inline void transpose16(__m512i (&r)[16]) {
  __m512i t[16];
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
    t[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {
    r[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
    r[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
    r[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
    r[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
  }
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm512_shuffle_i32x4(r[i], r[i + 4], 0x88);
    t[i + 4] = _mm512_shuffle_i32x4(r[i], r[i + 4], 0xDD);
    t[i + 8] = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0x88);
    t[i + 12] = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0xDD);
  }
  for (int i = 0; i < 4; ++i) {
    r[i] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0x88);
    r[i + 8] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0xDD);
    r[i + 4] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0x88);
    r[i + 12] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0xDD);
  }
}

// Four products at a time, of zeros: the unit takes the same time for them.
inline double exercise_tiles() {
  constexpr int32_t kRounds = 8000;
  constexpr double kFlops = 2.0 * 16 * 16 * 32;
  const TileScope tiles;
  alignas(64) static constexpr std::byte kZeros[kTileBytes]{};
  tile_zero<0>();
  tile_zero<1>();
  tile_zero<2>();
  tile_zero<3>();
  tile_load<5>(kZeros);
  tile_load<7>(kZeros);
  for (int32_t round = 0; round < kRounds; ++round) {
    tile_load<4>(kZeros);
    tile_load<6>(kZeros);
    tile_multiply_bf16<0, 4, 6>();
    tile_multiply_bf16<1, 4, 7>();
    tile_multiply_bf16<2, 5, 6>();
    tile_multiply_bf16<3, 5, 7>();
  }
  return kRounds * 4 * kFlops;
}

// Asks for the planes of the next group piece by piece, one line in `stride` bytes, so that the
// requests spread over the products of this one.
class PlanePrefetch {
 public:
  PlanePrefetch() = default;
  // `n_steps` calls of step() cover all planes.
  PlanePrefetch(std::span<const std::byte* const> planes, size_t plane_bytes, size_t stride,
                int32_t n_steps)
      : planes_(planes), plane_bytes_(plane_bytes), stride_(stride) {
    const auto steps = static_cast<size_t>(n_steps);
    requests_per_step_ = (planes.size() * plane_bytes / stride + steps - 1) / steps;
    next_plane();
  }
  void step() {
    for (size_t i = 0; i < requests_per_step_ && at_ != end_; ++i) {
      _mm_prefetch(reinterpret_cast<const char*>(at_), _MM_HINT_T1);
      at_ += stride_;
      if (at_ == end_) next_plane();
    }
  }

 private:
  void next_plane() {
    at_ = end_ = nullptr;
    if (planes_.empty()) return;
    at_ = planes_.front();
    end_ = at_ + plane_bytes_;
    planes_ = planes_.subspan(1);
  }
  std::span<const std::byte* const> planes_;
  size_t plane_bytes_ = 0, stride_ = 0, requests_per_step_ = 0;
  const std::byte* at_ = nullptr;
  const std::byte* end_ = nullptr;
};

// Turns scores [R, n_tokens, 16], `tile_stride` floats from tile to tile, into weights, two tokens
// at a time. It never looks back, so it can run between other work.
template <int R>
struct Softener {
  TileWeights* p;  // [R]
  __m512 maximum[R], sum[R], highest[R];
  const float* scores = nullptr;
  ptrdiff_t tile_stride = 0;
  int32_t at = 0;  // element of p

  void pairs(int n) {
    for (; n > 0; --n, scores += 2 * kTileLanes, at += 2 * kTileLanes) {
#pragma GCC unroll 2
      for (int r = 0; r < R; ++r) pair(r);
    }
  }

 private:
  void pair(int r) {
    const __m512 even = _mm512_load_ps(scores + r * tile_stride);
    const __m512 odd = _mm512_load_ps(scores + r * tile_stride + kTileLanes);
    highest[r] = _mm512_max_ps(highest[r], _mm512_max_ps(even, odd));
    const __m512 a = exp2_vector(_mm512_sub_ps(even, maximum[r]));
    const __m512 b = exp2_vector(_mm512_sub_ps(odd, maximum[r]));
    sum[r] = _mm512_add_ps(sum[r], _mm512_add_ps(a, b));
    // [a0 .. a15, b0 .. b15] to [a0, b0, a1, b1, ...]
    const __m512i apart = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(b, a));
    _mm512_store_si512(p[r] + at, _mm512_permutexvar_epi16(interleave(), apart));
  }
  static __m512i interleave() {
    alignas(64) static constexpr uint16_t kOrder[32] = {0,  16, 1,  17, 2,  18, 3,  19, 4,  20, 5,
                                                        21, 6,  22, 7,  23, 8,  24, 9,  25, 10, 26,
                                                        11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
    return _mm512_load_si512(kOrder);
  }
};

// Tokens whose scores are made at once: four sums of 16 x 16.
template <int R>
constexpr int32_t kPieceTokens = (4 / R) * kKeyTile;

// scores[r, token, lane] of kPieceTokens<R> tokens whose keys begin at `keys`, `tile_stride` floats
// from tile r to the next. `between` runs after every 32 dims.
template <int R, class Between>
inline void score_piece(const std::byte* keys, const std::byte* queries, int32_t head_dim,
                        float* scores, ptrdiff_t tile_stride, Between&& between) {
  const int32_t n_steps = head_dim / kStepDims;
  const ptrdiff_t key_stride = n_steps * static_cast<ptrdiff_t>(kTileBytes);
  tile_zero<0>();
  tile_zero<1>();
  tile_zero<2>();
  tile_zero<3>();
  for (int32_t step = 0; step < n_steps; ++step, keys += kTileBytes, queries += kTileBytes) {
    if constexpr (R == 2) {
      tile_load<4>(keys);
      tile_load<6>(queries);
      tile_multiply_bf16<0, 4, 6>();
      tile_load<7>(queries + key_stride);  // tiles of queries have the same size
      tile_multiply_bf16<1, 4, 7>();
      tile_load<5>(keys + key_stride);
      tile_multiply_bf16<2, 5, 6>();
      tile_multiply_bf16<3, 5, 7>();
    } else {
      tile_load<6>(queries);
      tile_load<4>(keys);
      tile_multiply_bf16<0, 4, 6>();
      tile_load<5>(keys + key_stride);
      tile_multiply_bf16<1, 5, 6>();
      tile_load<7>(keys + 2 * key_stride);
      tile_multiply_bf16<2, 7, 6>();
      tile_load<4>(keys + 3 * key_stride);
      tile_multiply_bf16<3, 4, 6>();
    }
    between();
  }
  if constexpr (R == 2) {
    tile_store<0>(scores);
    tile_store<1>(scores + tile_stride);
    tile_store<2>(scores + kTileFloats);
    tile_store<3>(scores + tile_stride + kTileFloats);
  } else {
    tile_store<0>(scores);
    tile_store<1>(scores + kTileFloats);
    tile_store<2>(scores + 2 * kTileFloats);
    tile_store<3>(scores + 3 * kTileFloats);
  }
}

// sums[r, dim, lane] += values^T p for kDims dim tiles from `offset` bytes into the columns.
template <int R, int kDims>
inline void add_value_tiles(std::span<const std::byte* const> columns, ptrdiff_t offset,
                            const TileWeights* p, float* sums, ptrdiff_t sums_stride,
                            PlanePrefetch& prefetch) {
  static_assert(R * kDims <= 4);
  float* const second = R == 2 ? sums + sums_stride : sums + kTileFloats;
  float* const third = R == 2 ? sums + kTileFloats : sums + 2 * kTileFloats;
  float* const fourth = R == 2 ? sums + sums_stride + kTileFloats : sums + 3 * kTileFloats;
  tile_load<0>(sums);
  tile_load<1>(second);
  if constexpr (R * kDims == 4) tile_load<2>(third);
  if constexpr (R * kDims == 4) tile_load<3>(fourth);
  const uint16_t* weights = p[0];
  for (const std::byte* column : columns) {
    const std::byte* values = column + offset;
    if constexpr (R == 2) {
      tile_load<4>(values);
      tile_load<6>(weights);
      tile_multiply_bf16<0, 4, 6>();
      tile_load<7>(weights + kGroupTokens * kTileLanes);
      tile_multiply_bf16<1, 4, 7>();
      tile_load<5>(values + kDimTileStride);
      tile_multiply_bf16<2, 5, 6>();
      tile_multiply_bf16<3, 5, 7>();
    } else {
      tile_load<6>(weights);
      tile_load<4>(values);
      tile_multiply_bf16<0, 4, 6>();
      tile_load<5>(values + kDimTileStride);
      tile_multiply_bf16<1, 5, 6>();
      if constexpr (kDims == 4) {
        tile_load<7>(values + 2 * kDimTileStride);
        tile_multiply_bf16<2, 7, 6>();
        tile_load<4>(values + 3 * kDimTileStride);
        tile_multiply_bf16<3, 4, 6>();
      }
    }
    weights += kValueTile * kTileLanes;
    prefetch.step();
  }
  tile_store<0>(sums);
  tile_store<1>(second);
  if constexpr (R * kDims == 4) tile_store<2>(third);
  if constexpr (R * kDims == 4) tile_store<3>(fourth);
}

}  // namespace
}  // namespace slip::cpu
