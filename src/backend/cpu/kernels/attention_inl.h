// Causal attention over part of the cache: scores, online softmax and weighted values, one cache
// block at a time, in float whatever the cache's elements are. Both products are outer products: a
// query row's element (or its weight) is broadcast against a vector of tokens (or dims) as it lies
// in the cache, keys [head_dim, 64] and values [64, head_dim], so a tile of rows reads the cache
// once and nothing is summed across lanes. Cost per block and packed row: 2 * 64 * head_dim / lanes
// FMA; one row is bound by reading the cache.
#pragma once

#include <algorithm>
#include <limits>

#include "backend/cpu/kernels/product_inl.h"
#include "backend/cpu/kernels/table.h"
#include "backend/cpu/kernels/vector_math_inl.h"

namespace slip::cpu {
namespace {

// Rows x 2 vectors of sums, 2 vectors of the cache and a broadcast, in 16 or 32 registers.
constexpr int32_t kAttentionRows = kWideLanes == 8 ? 6 : 12;
constexpr int32_t kFewRows = 3;
constexpr float kNothing = -std::numeric_limits<float>::infinity();

// Vectors beside `rows` rows, so that about eight sums keep the FMA units busy.
constexpr int vectors_beside(int rows) {
  const int wanted = rows == 1 ? 8 : rows <= kFewRows ? 4 : 2;
  return std::min(wanted, kTokensPerBlock / kWideLanes);
}

// Elements of the cache: kBytes each, as vectors of floats.
struct F32Elements {
  static constexpr DType kType = DType::kF32;
  static constexpr int32_t kBytes = 4;
  static Wide load(const std::byte* from) { return load_as<Wide>(from); }
  using Stored = float;
  static void round(const float* from, Stored* to) { *to = *from; }
};

struct BF16Elements {
  static constexpr DType kType = DType::kBF16;
  static constexpr int32_t kBytes = 2;
  static Wide load(const std::byte* from) { return load_bf16<Wide>(from); }
  using Stored = uint16_t;
  static void round(const float* from, Stored* to) { *to = to_bfloat16(*from).bits; }
};

struct F16Elements {
  static constexpr DType kType = DType::kF16;
  static constexpr int32_t kBytes = 2;
  static Wide load(const std::byte* from) {
#if defined(__AVX512F__)
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
#else
    return load_f16(from);
#endif
  }
  using Stored = uint16_t;
  static void round(const float* from, Stored* to) { *to = float_to_half(*from); }
};

// Keys and values have planes of one size, and a tile steps through its plane in strides that the
// hardware's own prefetching does not follow. So every tile asks for the line that lies `ahead` of
// the one it reads: values while it reads keys, the next block's keys while it reads values. 0 asks
// for nothing new.
template <class Elements, int kVectors>
inline void prefetch_ahead(const std::byte* at, ptrdiff_t ahead) {
  constexpr int kLineBytes = 64;
#pragma GCC unroll 4
  for (int b = 0; b < kVectors * kWideLanes * Elements::kBytes; b += kLineBytes)
    __builtin_prefetch(at + ahead + b);
}

// scores[r, t] = sum over d, ascending, of q[r, d] * k[d, t], for kVectors * kWideLanes tokens.
template <class Elements, int kRows, int kVectors>
inline void score_tile(const float* q, const std::byte* k, int32_t head_dim, ptrdiff_t ahead,
                       float* scores) {
  Wide sums[kRows][kVectors] = {};
  for (int32_t d = 0; d < head_dim; ++d, k += kTokensPerBlock * Elements::kBytes) {
    prefetch_ahead<Elements, kVectors>(k, ahead);
    Wide keys[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v)
      keys[v] = Elements::load(k + v * kWideLanes * Elements::kBytes);
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      const Wide element = splat<Wide>(q[r * head_dim + d]);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sums[r][v] = fma(element, keys[v], sums[r][v]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v)
      store(scores + r * kTokensPerBlock + v * kWideLanes, sums[r][v]);
  }
}

// out[r, d] += sum over t in [begin, end), ascending, of weights[r, t] * v[t, d], for kVectors *
// kWideLanes dims.
template <class Elements, int kRows, int kVectors>
inline void value_tile(const float* weights, const std::byte* values, int32_t head_dim,
                       int32_t begin, int32_t end, ptrdiff_t ahead, float* out) {
  Wide sums[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) sums[r][v] = load<Wide>(out + r * head_dim + v * kWideLanes);
  }
  for (int32_t t = begin; t < end; ++t) {
    const std::byte* at = values + t * head_dim * Elements::kBytes;
    prefetch_ahead<Elements, kVectors>(at, ahead);
    Wide row[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v)
      row[v] = Elements::load(at + v * kWideLanes * Elements::kBytes);
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      const Wide weight = splat<Wide>(weights[r * kTokensPerBlock + t]);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sums[r][v] = fma(weight, row[v], sums[r][v]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) store(out + r * head_dim + v * kWideLanes, sums[r][v]);
  }
}

template <class Elements, int kRows>
inline void weigh_rows(const float* weights, const std::byte* values, int32_t head_dim,
                       int32_t begin, int32_t end, ptrdiff_t ahead, float* out) {
  constexpr int kVectors = vectors_beside(kRows);
  int32_t d = 0;
  const auto tile = [&]<int kHere>(std::integral_constant<int, kHere>) {
    for (; d + kHere * kWideLanes <= head_dim; d += kHere * kWideLanes) {
      value_tile<Elements, kRows, kHere>(weights, values + d * Elements::kBytes, head_dim, begin,
                                         end, ahead, out + d);
    }
  };
  tile(std::integral_constant<int, kVectors>{});
  tile(std::integral_constant<int, 16 / kWideLanes>{});  // head dims are multiples of 16
}

// Turns a row of scores into weights and returns the factor for what was summed before. Tokens from
// n_valid on get weight zero by selection, whatever their score is.
inline float soften(float* scores, int32_t n_valid, float* maximum_so_far, float* weight_so_far) {
  constexpr int kVectors = kTokensPerBlock / kWideLanes;
  WideInts lane;
  for (int i = 0; i < kWideLanes; ++i) lane[i] = i;
  Wide s[kVectors];
  Wide best = splat<Wide>(*maximum_so_far);
  for (int v = 0; v < kVectors; ++v) {
    s[v] = lane + v * kWideLanes < n_valid ? load<Wide>(scores + v * kWideLanes)
                                           : splat<Wide>(kNothing);
    best = maximum(s[v], best);
  }
  const float new_maximum = largest(best);
  Wide total{};
  for (int v = 0; v < kVectors; ++v) {
    s[v] = lane + v * kWideLanes < n_valid ? exp(s[v] - splat<Wide>(new_maximum)) : Wide{};
    store(scores + v * kWideLanes, s[v]);
    total += s[v];
  }
  const float factor = exp(*maximum_so_far - new_maximum);
  *maximum_so_far = new_maximum;
  *weight_so_far = *weight_so_far * factor + sum(total);
  return factor;
}

// The packed rows [first, last) of one call against one cache block.
struct BlockWork {
  const AttentionParams& p;
  const std::byte* keys;
  const std::byte* values;
  const std::byte*
      next_keys;        // of the block that is read after this one; this one's again at the end
  int32_t block_begin;  // position of the block's first token
  int32_t first, last;

  // Tokens of the block that packed row `row` may see; at least one.
  int32_t n_valid(int32_t row) const {
    return std::min(kTokensPerBlock, p.position + row / p.group - block_begin + 1);
  }
  const float* q(int32_t row) const {
    return p.q + static_cast<size_t>(row) * static_cast<size_t>(p.head_dim);
  }
  float* sums(int32_t row) const {
    return p.sums + static_cast<size_t>(row) * static_cast<size_t>(p.head_dim);
  }
  float* scores(int32_t row) const {
    return p.scratch + static_cast<size_t>(row) * kTokensPerBlock;
  }
};

// Rows of the next tile when `n_left` are left: as even as the tiles can be, so that none starves
// the FMA units.
inline int32_t even_tile_rows(int32_t n_left) {
  const int32_t n_tiles = (n_left + kAttentionRows - 1) / kAttentionRows;
  return (n_left + n_tiles - 1) / n_tiles;
}

// A few rows: every token they may need at once. Many: so many tokens for all of them before the
// next ones that the keys stay in a near cache.
template <class Elements, int kRowsMax, int kVectors>
inline void score_rows(const BlockWork& b) {
  for (int32_t t = 0; t < b.n_valid(b.last - 1); t += kVectors * kWideLanes) {
    for (int32_t row = b.first, n = 0; row < b.last; row += n) {
      n = even_tile_rows(b.last - row);
      with_count<kRowsMax>(n, [&](auto rows) {
        const ptrdiff_t ahead = row == b.first ? b.values - b.keys : 0;
        score_tile<Elements, rows(), kVectors>(b.q(row), b.keys + t * Elements::kBytes,
                                               b.p.head_dim, ahead, b.scores(row) + t);
      });
    }
  }
}

template <class Elements>
inline void score_block(const BlockWork& b) {
  if (b.last - b.first == 1) {
    score_rows<Elements, 1, vectors_beside(1)>(b);
  } else if (b.last - b.first <= kFewRows) {
    score_rows<Elements, kFewRows, vectors_beside(kFewRows)>(b);
  } else {
    score_rows<Elements, kAttentionRows, 2>(b);
  }
}

inline void soften_block(const BlockWork& b) {
  for (int32_t row = b.first; row < b.last; ++row) {
    const Wide factor =
        splat<Wide>(soften(b.scores(row), b.n_valid(row), b.p.maxima + row, b.p.weights + row));
    float* sums = b.sums(row);
    for (int32_t d = 0; d < b.p.head_dim; d += kWideLanes)
      store(sums + d, load<Wide>(sums + d) * factor);
  }
}

// A tile adds the tokens that all its rows see; each row adds the few others alone. A weight of
// zero would not do: zero times a NaN in the cache is NaN.
template <class Elements>
inline void weigh_block(const BlockWork& b) {
  const int32_t head_dim = b.p.head_dim;
  for (int32_t row = b.first, n = 0; row < b.last; row += n) {
    n = even_tile_rows(b.last - row);
    const int32_t n_common = b.n_valid(row);
    with_count<kAttentionRows>(n, [&](auto rows) {
      const ptrdiff_t ahead = row == b.first ? b.next_keys - b.values : 0;
      weigh_rows<Elements, rows()>(b.scores(row), b.values, head_dim, 0, n_common, ahead,
                                   b.sums(row));
    });
    for (int32_t other = row + 1; other < row + n; ++other) {
      if (b.n_valid(other) == n_common) continue;
      weigh_rows<Elements, 1>(b.scores(other), b.values, head_dim, n_common, b.n_valid(other), 0,
                              b.sums(other));
    }
  }
}

template <class Elements>
void attend(const AttentionParams& p) {
  const int32_t last = p.n_rows * p.group;
  const int32_t first_row = std::max(0, p.cache.begin - p.position);
  for (int32_t row = first_row * p.group; row < last; ++row) {
    p.maxima[row] = kNothing;
    p.weights[row] = 0;
    float* sums = p.sums + static_cast<size_t>(row) * static_cast<size_t>(p.head_dim);
    std::fill_n(sums, p.head_dim, 0.0f);
  }
  const int32_t end = std::min(p.cache.end, p.position + p.n_rows);
  for (int32_t begin = p.cache.begin; begin < end; begin += kTokensPerBlock) {
    const std::byte* block = p.cache.blocks[begin / kTokensPerBlock];
    const BlockWork work{
        .p = p,
        .keys = block + p.cache.key_offset,
        .values = block + p.cache.value_offset,
        .next_keys = p.cache.blocks[std::min(begin + kTokensPerBlock, end - 1) / kTokensPerBlock] +
                     p.cache.key_offset,
        .block_begin = begin,
        .first = std::max(0, begin - p.position) * p.group,
        .last = last,
    };
    score_block<Elements>(work);
    soften_block(work);
    weigh_block<Elements>(work);
  }
}

template <class Elements>
void append(const AppendParams& p) {
  auto* elements = reinterpret_cast<typename Elements::Stored*>(p.plane);
  p.layout->for_dims(p.token, p.head_dim,
                     [&](int32_t d, size_t at) { Elements::round(p.x + d, elements + at); });
}

template <class Elements>
constexpr AttentionKernel attention_kernel(std::string_view name) {
  return {.name = name,
          .type = Elements::kType,
          .head_dim_step = 16,
          .keys = [](int32_t) { return dim_major(); },
          .values = token_major,
          .append = append<Elements>,
          .scratch_floats =
              [](int32_t n_packed_rows, int32_t) {
                return static_cast<size_t>(n_packed_rows) * size_t{kTokensPerBlock};
              },
          .attend = attend<Elements>};
}

void merge(const MergeParams& p) {
  float best = kNothing;
  for (int32_t s = 0; s < p.n_splits; ++s)
    best = std::max(best, p.maxima[static_cast<size_t>(s) * p.stats_stride]);
  float weight = 0;
  std::fill_n(p.out, p.head_dim, 0.0f);
  for (int32_t s = 0; s < p.n_splits; ++s) {
    const auto split = static_cast<size_t>(s);
    const float factor = exp(p.maxima[split * p.stats_stride] - best);
    weight += p.weights[split * p.stats_stride] * factor;
    const float* sums = p.sums + split * p.sums_stride;
    for (int32_t d = 0; d < p.head_dim; d += kLanes) {
      store(p.out + d, fma(load(sums + d), splat(factor), load(p.out + d)));
    }
  }
  for (int32_t d = 0; d < p.head_dim; d += kLanes) {
    const F8 mean = load(p.out + d) / splat(weight);
    store(p.out + d, p.gate == nullptr ? mean : mean * sigmoid(load(p.gate + d)));
  }
}

}  // namespace
}  // namespace slip::cpu
