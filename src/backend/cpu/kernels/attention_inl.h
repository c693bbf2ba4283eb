// Causal attention over part of the cache: scores, online softmax and weighted values, one cache
// block at a time. Both products are outer products: a query row's element (or its weight) is
// broadcast against a vector of tokens (or dims) as it lies in the cache, so a tile of rows reads
// the cache once and nothing is summed across lanes. Cost per block and packed row on AVX2: 2 * 64
// * head_dim / 8 FMA; one row is bound by reading the cache.
#pragma once

#include <algorithm>
#include <limits>

#include "backend/cpu/kernels/product_inl.h"
#include "backend/cpu/kernels/table.h"
#include "backend/cpu/kernels/vector_math_inl.h"

namespace slip::cpu {
namespace {

constexpr int32_t kAttentionRows =
    6;  // 6 rows x 2 vectors: 12 sums, 2 vectors of the cache, 1 broadcast
constexpr int32_t kFewRows = 3;
constexpr float kNothing = -std::numeric_limits<float>::infinity();

// Vectors beside `rows` rows, so that about eight sums keep the FMA units busy.
constexpr int vectors_beside(int rows) { return rows == 1 ? 8 : rows <= kFewRows ? 4 : 2; }

// Keys and values have planes of one size, and a tile steps through its plane in strides that the
// hardware's own prefetching does not follow. So every tile asks for the line that lies `ahead` of
// the one it reads: values while it reads keys, the next block's keys while it reads values. 0 asks
// for nothing new.
template <int kVectors>
inline void prefetch_ahead(const float* at, ptrdiff_t ahead) {
  constexpr int kVectorsPerLine = 2;
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; v += kVectorsPerLine) __builtin_prefetch(at + ahead + v * kLanes);
}

// scores[r, t] = sum over d, ascending, of q[r, d] * k[d, t], for kVectors * 8 tokens.
template <int kRows, int kVectors>
inline void score_tile(const float* q, const float* k, int32_t head_dim, ptrdiff_t ahead,
                       float* scores) {
  F8 sums[kRows][kVectors] = {};
  for (int32_t d = 0; d < head_dim; ++d, k += kTokensPerBlock) {
    prefetch_ahead<kVectors>(k, ahead);
    F8 keys[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) keys[v] = load(k + v * kLanes);
#pragma GCC unroll 6
    for (int r = 0; r < kRows; ++r) {
      const F8 element = splat(q[r * head_dim + d]);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sums[r][v] = fma(element, keys[v], sums[r][v]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) store(scores + r * kTokensPerBlock + v * kLanes, sums[r][v]);
  }
}

// out[r, d] += sum over t in [begin, end), ascending, of weights[r, t] * v[t, d], for kVectors * 8
// dims.
template <int kRows, int kVectors>
inline void value_tile(const float* weights, const float* values, int32_t head_dim, int32_t begin,
                       int32_t end, ptrdiff_t ahead, float* out) {
  F8 sums[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) sums[r][v] = load(out + r * head_dim + v * kLanes);
  }
  for (int32_t t = begin; t < end; ++t) {
    prefetch_ahead<kVectors>(values + t * head_dim, ahead);
    F8 row[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) row[v] = load(values + t * head_dim + v * kLanes);
#pragma GCC unroll 6
    for (int r = 0; r < kRows; ++r) {
      const F8 weight = splat(weights[r * kTokensPerBlock + t]);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sums[r][v] = fma(weight, row[v], sums[r][v]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) store(out + r * head_dim + v * kLanes, sums[r][v]);
  }
}

template <int kRows, int kVectors>
inline void score_rows(const float* q, const float* k, int32_t head_dim, int32_t n_tokens,
                       ptrdiff_t ahead, float* scores) {
  for (int32_t t = 0; t < n_tokens; t += kVectors * kLanes) {
    score_tile<kRows, kVectors>(q, k + t, head_dim, ahead, scores + t);
  }
}

template <int kRows>
inline void weigh_rows(const float* weights, const float* values, int32_t head_dim, int32_t begin,
                       int32_t end, ptrdiff_t ahead, float* out) {
  constexpr int kVectors = vectors_beside(kRows);
  int32_t d = 0;
  for (; d + kVectors * kLanes <= head_dim; d += kVectors * kLanes) {
    value_tile<kRows, kVectors>(weights, values + d, head_dim, begin, end, ahead, out + d);
  }
  for (; d < head_dim; d += 2 * kLanes)
    value_tile<kRows, 2>(weights, values + d, head_dim, begin, end, ahead, out + d);
}

// Turns a row of scores into weights and returns the factor for what was summed before. Tokens from
// n_valid on get weight zero by selection, whatever their score is.
inline float soften(float* scores, int32_t n_valid, float* maximum_so_far, float* weight_so_far) {
  constexpr int kVectors = kTokensPerBlock / kLanes;
  const I8 lane = {0, 1, 2, 3, 4, 5, 6, 7};
  F8 s[kVectors];
  F8 best = splat(*maximum_so_far);
  for (int v = 0; v < kVectors; ++v) {
    s[v] = lane + v * kLanes < n_valid ? load(scores + v * kLanes) : splat(kNothing);
    best = maximum(s[v], best);
  }
  const float new_maximum = largest(best);
  F8 total{};
  for (int v = 0; v < kVectors; ++v) {
    s[v] = lane + v * kLanes < n_valid ? exp(s[v] - splat(new_maximum)) : F8{};
    store(scores + v * kLanes, s[v]);
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
  const float* keys;
  const float* values;
  const float* next_keys;  // of the block that is read after this one; this one's again at the end
  int32_t block_begin;     // position of the block's first token
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
  float* scores(int32_t row) const { return p.scores + static_cast<size_t>(row) * kTokensPerBlock; }
};

// Rows of the next tile when `n_left` are left: as even as the tiles can be, so that none starves
// the FMA units.
inline int32_t even_tile_rows(int32_t n_left) {
  const int32_t n_tiles = (n_left + kAttentionRows - 1) / kAttentionRows;
  return (n_left + n_tiles - 1) / n_tiles;
}

// A few rows: every token they may need at once.
inline void score_few_rows(const BlockWork& b) {
  with_count<kFewRows>(b.last - b.first, [&](auto rows) {
    score_rows<rows(), vectors_beside(rows())>(b.q(b.first), b.keys, b.p.head_dim,
                                               b.n_valid(b.last - 1), b.values - b.keys,
                                               b.scores(b.first));
  });
}

// Many rows: sixteen tokens for all of them before the next sixteen, so that the keys stay in a
// near cache.
inline void score_many_rows(const BlockWork& b) {
  constexpr int32_t kTokens = 2 * kLanes;
  for (int32_t t = 0; t < b.n_valid(b.last - 1); t += kTokens) {
    for (int32_t row = b.first, n = 0; row < b.last; row += n) {
      n = even_tile_rows(b.last - row);
      with_count<kAttentionRows>(n, [&](auto rows) {
        const ptrdiff_t ahead = row == b.first ? b.values - b.keys : 0;
        score_tile<rows(), 2>(b.q(row), b.keys + t, b.p.head_dim, ahead, b.scores(row) + t);
      });
    }
  }
}

inline void score_block(const BlockWork& b) {
  if (b.last - b.first <= kFewRows) {
    score_few_rows(b);
  } else {
    score_many_rows(b);
  }
}

inline void soften_block(const BlockWork& b) {
  for (int32_t row = b.first; row < b.last; ++row) {
    const F8 factor =
        splat(soften(b.scores(row), b.n_valid(row), b.p.maxima + row, b.p.weights + row));
    float* sums = b.sums(row);
    for (int32_t d = 0; d < b.p.head_dim; d += kLanes) store(sums + d, load(sums + d) * factor);
  }
}

// A tile adds the tokens that all its rows see; each row adds the few others alone. A weight of
// zero would not do: zero times a NaN in the cache is NaN.
inline void weigh_block(const BlockWork& b) {
  const int32_t head_dim = b.p.head_dim;
  for (int32_t row = b.first, n = 0; row < b.last; row += n) {
    n = even_tile_rows(b.last - row);
    const int32_t n_common = b.n_valid(row);
    with_count<kAttentionRows>(n, [&](auto rows) {
      const ptrdiff_t ahead = row == b.first ? b.next_keys - b.values : 0;
      weigh_rows<rows()>(b.scores(row), b.values, head_dim, 0, n_common, ahead, b.sums(row));
    });
    for (int32_t other = row + 1; other < row + n; ++other) {
      if (b.n_valid(other) == n_common) continue;
      weigh_rows<1>(b.scores(other), b.values, head_dim, n_common, b.n_valid(other), 0,
                    b.sums(other));
    }
  }
}

void attend(const AttentionParams& p) {
  const int32_t last = p.n_rows * p.group;
  const int32_t first_row = std::max(0, p.token_begin - p.position);
  for (int32_t row = first_row * p.group; row < last; ++row) {
    p.maxima[row] = kNothing;
    p.weights[row] = 0;
    float* sums = p.sums + static_cast<size_t>(row) * static_cast<size_t>(p.head_dim);
    std::fill_n(sums, p.head_dim, 0.0f);
  }
  const int32_t end = std::min(p.token_end, p.position + p.n_rows);
  for (int32_t begin = p.token_begin; begin < end; begin += kTokensPerBlock) {
    const float* block = p.blocks[begin / kTokensPerBlock];
    const BlockWork work{
        .p = p,
        .keys = block + p.key_offset,
        .values = block + p.value_offset,
        .next_keys =
            p.blocks[std::min(begin + kTokensPerBlock, end - 1) / kTokensPerBlock] + p.key_offset,
        .block_begin = begin,
        .first = std::max(0, begin - p.position) * p.group,
        .last = last,
    };
    score_block(work);
    soften_block(work);
    weigh_block(work);
  }
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
