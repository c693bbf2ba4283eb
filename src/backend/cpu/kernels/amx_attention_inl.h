// Causal attention with the matrix unit of AMX: scores and weighted values as products of BF16
// tiles, sums and statistics in float.
//
// Keys are the tall side of both products, packed rows (query heads of one KV head, row by row) the
// 16 columns of a tile: S^T = K Q^T and O^T = V^T P^T. So a row is one lane of a vector, maximum,
// sum and rescaling are vertical, and every number of rows reads the cache once. Keys lie as tiles
// of 16 tokens by 32 dims, values transposed as tiles of 16 dims by 32 tokens: both are left
// operands as they lie. The cache is walked in groups of 256 tokens from the beginning of the
// split. Exponentials of one piece of scores run between the tile products of the next.
//
// The maximum of a lane is lazy: it moves only when a group exceeds it by 2^8. Like everything here
// that depends on the lane alone and on the grid of tokens, so a row's bits do not depend on its
// company. Q and P are rounded to BF16; the exponential is within 7.5e-5.
//
// Cost of a group and two tiles of rows: 2 * 256 * head_dim * 32 multiplications, on a unit that
// does 16 * 32 * 16 in 16 cycles; 16 rows of 32 exponentials a vector operation. Up to about 80
// packed rows it is bound by reading the cache.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

#include <immintrin.h>

#include "backend/cpu/kernels/amx_steps_inl.h"
#include "backend/cpu/kernels/attention_inl.h"
#include "backend/cpu/kernels/table.h"

namespace slip::cpu {
namespace {

constexpr size_t kRingFloats = 4 * kTileFloats;  // scores of a piece
constexpr float kLazyBits = 8;                   // in log2: weights stay below 2^8
constexpr float kLowest = -1e30f;
constexpr float kLog2E = 1.44269504088896341f;
constexpr float kLn2 = 0.693147180559945309f;

// What one thread works with, in floats; T tiles of lanes.
struct AmxScratch {
  std::byte* queries;   // [T, head_dim / 32] tiles: right operands of the scores
  float* sums;          // [T, head_dim, 16]
  float* maxima;        // [T, 16], log2
  float* weights;       // [T, 16]
  float* scores;        // [2, 256, 16]
  TileWeights* p;       // [2] tiles: right operands of the values
  float* ring;          // [2] scores of a piece
  std::byte* staged;    // [head_dim / 16, 2] value tiles
  float *before, *row;  // [2, head_dim, 16] each: sums of rows that must not see a NaN

  // Floats of all parts; `base` may be null.
  static size_t lay_out(AmxScratch& s, float* base, int32_t n_tiles, int32_t head_dim) {
    size_t at = 0;
    const auto take = [&](size_t n) {
      float* begin = base == nullptr ? nullptr : base + at;
      at += (n + 15) / 16 * 16;
      return begin;
    };
    const auto tiles = static_cast<size_t>(n_tiles), dim = static_cast<size_t>(head_dim);
    s.queries = reinterpret_cast<std::byte*>(take(tiles * dim / 32 * kTileFloats));
    s.sums = take(tiles * dim * 16);
    s.maxima = take(tiles * 16);
    s.weights = take(tiles * 16);
    s.scores = take(size_t{kPassTiles} * kGroupTokens * kTileLanes);
    s.p = reinterpret_cast<TileWeights*>(take(sizeof(TileWeights) * kPassTiles / sizeof(float)));
    s.ring = take(2 * kRingFloats);
    s.staged = reinterpret_cast<std::byte*>(take(dim / 16 * 2 * kTileFloats));
    s.before = take(kPassTiles * dim * 16);
    s.row = take(kPassTiles * dim * 16);
    return at;
  }
};

// The tokens of one group and what is read after them.
struct AmxGroup {
  int32_t begin;     // position of the first token
  int32_t n_tokens;  // a multiple of 64; those above a row's position are masked
  const std::byte* keys[kGroupBlocks];
  const std::byte*
      columns[kGroupBlocks * kColumnsPerBlock];  // value tiles of 32 tokens and dims 0..15
};

// One call of the kernel: a KV head, a chunk of rows, a split.
class AmxAttention {
 public:
  explicit AmxAttention(const AttentionParams& p)
      : p_(p),
        n_lanes_(p.n_rows * p.group),
        n_tiles_((n_lanes_ + kTileLanes - 1) / kTileLanes),
        end_(std::min(p.cache.end, p.position + p.n_rows)),
        plane_bytes_(static_cast<size_t>(kTokensPerBlock * p.head_dim) * sizeof(uint16_t)) {
    AmxScratch::lay_out(s_, p.scratch, n_tiles_, p.head_dim);
  }

  void run() {
    const TileScope tiles;
    for (int32_t t = 0; t < n_tiles_; ++t) pack_queries(t);
    std::fill_n(s_.maxima, n_tiles_ * kTileLanes, kLowest);
    std::fill_n(s_.weights, n_tiles_ * kTileLanes, 0.0f);
    std::fill_n(s_.sums, static_cast<size_t>(n_tiles_) * lane_floats(), 0.0f);
    AmxGroup group = group_at(p_.cache, p_.cache.begin, end_);
    while (group.begin < end_) {
      AmxGroup next = group_at(p_.cache, group.begin + kGroupTokens, end_);
      const bool is_last = next.n_tokens == 0;
      run_group(group, is_last ? group_at(p_.next, p_.next.begin, p_.next.end) : next);
      group = next;
    }
    for (int32_t t = 0; t < n_tiles_; ++t) unpack_sums(t);
  }

 private:
  float* ring(int32_t piece) const { return s_.ring + (piece % 2 == 0 ? 0 : kRingFloats); }
  size_t lane_floats() const { return static_cast<size_t>(p_.head_dim) * kTileLanes; }
  float* sums(int32_t tile) const { return s_.sums + static_cast<size_t>(tile) * lane_floats(); }
  const std::byte* queries(int32_t tile) const {
    return s_.queries + static_cast<size_t>(tile) * lane_floats() * sizeof(uint16_t);
  }
  // Of the row that a lane belongs to; lanes beyond the last row follow it.
  int32_t row_of(int32_t lane) const { return std::min(lane, n_lanes_ - 1) / p_.group; }
  // Tokens of the group that the first row sees, and so all of them do.
  int32_t n_common(const AmxGroup& group) const {
    return std::clamp(p_.position + 1 - group.begin, 0, group.n_tokens);
  }

  // Where the keys of a piece begin.
  template <int R>
  const std::byte* keys_of(const AmxGroup& group, int32_t piece) const {
    constexpr int32_t kPiecesPerBlock = kTokensPerBlock / kPieceTokens<R>;
    const int32_t first = piece % kPiecesPerBlock * kPieceTokens<R>;
    return group.keys[piece / kPiecesPerBlock] +
           static_cast<size_t>(first * p_.head_dim) * sizeof(uint16_t);
  }
  template <int R>
  void add_weights(int32_t tile, const Softener<R>& softener) const {
    for (int r = 0; r < R; ++r) {
      float* weights = s_.weights + (tile + r) * kTileLanes;
      _mm512_store_ps(weights, _mm512_add_ps(_mm512_load_ps(weights), softener.sum[r]));
    }
  }

  // Empty where `begin` is not below `end`.
  static AmxGroup group_at(const CacheRange& cache, int32_t begin, int32_t end) {
    AmxGroup group{.begin = begin, .n_tokens = 0, .keys = {}, .columns = {}};
    for (int32_t at = begin; at < std::min(end, begin + kGroupTokens); at += kTokensPerBlock) {
      const std::byte* block = cache.blocks[at / kTokensPerBlock];
      const int32_t i = group.n_tokens / kTokensPerBlock;
      group.keys[i] = block + cache.key_offset;
      for (int32_t c = 0; c < kColumnsPerBlock; ++c) {
        group.columns[i * kColumnsPerBlock + c] =
            block + cache.value_offset + static_cast<size_t>(c) * kTileBytes;
      }
      group.n_tokens += kTokensPerBlock;
    }
    return group;
  }

  void pack_queries(int32_t tile);
  void unpack_sums(int32_t tile) const;
  void run_group(const AmxGroup& group, const AmxGroup& next);
  template <int R>
  void run_tiles(const AmxGroup& group, int32_t tile, PlanePrefetch& keys, PlanePrefetch& values);
  template <int R>
  bool soften_while_scoring(const AmxGroup& group, int32_t tile, PlanePrefetch& prefetch);
  template <int R>
  void soften_after_scoring(const AmxGroup& group, int32_t tile);
  void mask_scores(const AmxGroup& group, int32_t tile, float* scores) const;
  void raise_maximum(int32_t tile, __m512 highest);
  template <int R>
  void add_masked_values(const AmxGroup& group, int32_t tile);
  bool stage_columns(AmxGroup& group, int32_t n_visible) const;
  template <int R>
  void multiply_values(const AmxGroup& group, float* sums, PlanePrefetch& prefetch) const;

  const AttentionParams& p_;
  int32_t n_lanes_, n_tiles_, end_;
  size_t plane_bytes_;
  AmxScratch s_{};
};

inline void AmxAttention::pack_queries(int32_t tile) {
  auto* out = reinterpret_cast<__m512i*>(const_cast<std::byte*>(queries(tile)));
  const __m512 log2e = _mm512_set1_ps(kLog2E);
  for (int32_t d = 0; d < p_.head_dim; d += kStepDims, out += kAmxRows) {
    __m512i lanes[kTileLanes];
    for (int32_t i = 0; i < kTileLanes; ++i) {
      const int32_t lane = tile * kTileLanes + i;
      lanes[i] = _mm512_setzero_si512();
      if (lane >= n_lanes_) continue;
      const float* q = p_.q + static_cast<size_t>(lane) * static_cast<size_t>(p_.head_dim) + d;
      lanes[i] = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(
          _mm512_mul_ps(_mm512_loadu_ps(q + 16), log2e), _mm512_mul_ps(_mm512_loadu_ps(q), log2e)));
    }
    transpose16(lanes);
    for (int32_t i = 0; i < kAmxRows; ++i) _mm512_store_si512(out + i, lanes[i]);
  }
}

// To rows, for those that have a part in this split.
inline void AmxAttention::unpack_sums(int32_t tile) const {
  const int32_t first = std::max(0, p_.cache.begin - p_.position) * p_.group;
  const int32_t begin = std::max(first, tile * kTileLanes);
  const int32_t end = std::min(n_lanes_, (tile + 1) * kTileLanes);
  for (int32_t lane = begin; lane < end; ++lane) {
    p_.maxima[lane] = s_.maxima[lane] * kLn2;
    p_.weights[lane] = s_.weights[lane];
  }
  for (int32_t d = 0; d < p_.head_dim; d += kDimTile) {
    __m512i dims[kDimTile];
    for (int32_t i = 0; i < kDimTile; ++i)
      dims[i] = _mm512_load_si512(sums(tile) + (d + i) * kTileLanes);
    transpose16(dims);
    for (int32_t lane = begin; lane < end; ++lane) {
      float* out = p_.sums + static_cast<size_t>(lane) * static_cast<size_t>(p_.head_dim) + d;
      _mm512_storeu_si512(out, dims[lane - tile * kTileLanes]);
    }
  }
}

// Bytes from one request for the next group to the following one. Requests that come faster than
// memory answers are dropped. A single pass is over before that matters, and many passes leave time
// enough; in between, what is not dropped would be too scattered for the hardware's own
// prefetching, and a line here and there that wakes it is worth more
// (docs/experiments/2026-11-cpu-attention.md).
inline size_t request_stride(int32_t n_passes) {
  constexpr size_t kLine = 64, kSparse = 2048;
  return n_passes == 2 || n_passes == 3 ? kSparse : kLine;
}

// All tiles of lanes, in passes, while the next group is on its way.
inline void AmxAttention::run_group(const AmxGroup& group, const AmxGroup& next) {
  const int32_t n_pairs = n_tiles_ / 2, n_singles = n_tiles_ % 2;
  const int32_t n_score_steps =
      (p_.head_dim / kStepDims) *
      (n_pairs * group.n_tokens / kPieceTokens<2> + n_singles * group.n_tokens / kPieceTokens<1>);
  const int32_t n_value_steps =
      (group.n_tokens / kValueTile) * (p_.head_dim / kDimTile) * (2 * n_pairs + n_singles) / 4;
  const auto n_next = static_cast<size_t>(next.n_tokens / kTokensPerBlock);
  const std::byte* value_planes[kGroupBlocks];
  for (size_t i = 0; i < n_next; ++i) value_planes[i] = next.columns[i * kColumnsPerBlock];
  const size_t stride = request_stride(n_pairs + n_singles);
  PlanePrefetch keys({next.keys, n_next}, plane_bytes_, stride, n_score_steps);
  PlanePrefetch values({value_planes, n_next}, plane_bytes_, stride, n_value_steps);
  int32_t tile = 0;
  for (; tile + 2 <= n_tiles_; tile += 2) run_tiles<2>(group, tile, keys, values);
  if (tile < n_tiles_) run_tiles<1>(group, tile, keys, values);
}

template <int R>
inline void AmxAttention::run_tiles(const AmxGroup& group, int32_t tile, PlanePrefetch& keys,
                                    PlanePrefetch& values) {
  const bool is_first = group.begin == p_.cache.begin;
  const bool all_visible = n_common(group) == group.n_tokens;
  if (is_first || !all_visible || !soften_while_scoring<R>(group, tile, keys))
    soften_after_scoring<R>(group, tile);
  if (all_visible) {
    multiply_values<R>(group, sums(tile), values);
  } else {
    add_masked_values<R>(group, tile);
  }
}

// The weights of a group under the maxima that its lanes have. False where one has to move: nothing
// has happened then.
template <int R>
inline bool AmxAttention::soften_while_scoring(const AmxGroup& group, int32_t tile,
                                               PlanePrefetch& prefetch) {
  constexpr int32_t kPiece = kPieceTokens<R>;
  constexpr ptrdiff_t kStride = kPiece * kTileLanes;
  const int32_t n_steps = p_.head_dim / kStepDims;
  const int32_t pairs_per_step = (kPiece / 2 + n_steps - 1) / n_steps;
  Softener<R> softener{.p = s_.p, .maximum = {}, .sum = {}, .highest = {}};
  for (int r = 0; r < R; ++r) {
    softener.maximum[r] = _mm512_load_ps(s_.maxima + (tile + r) * kTileLanes);
    softener.sum[r] = _mm512_setzero_ps();
    softener.highest[r] = _mm512_set1_ps(-INFINITY);
  }
  softener.tile_stride = kStride;
  const int32_t n_pieces = group.n_tokens / kPiece;
  for (int32_t piece = 0; piece < n_pieces; ++piece) {
    const std::byte* keys = keys_of<R>(group, piece);
    int32_t n_waiting = piece == 0 ? 0 : kPiece / 2;
    softener.scores = ring(piece + 1);
    score_piece<R>(keys, queries(tile), p_.head_dim, ring(piece), kStride, [&] {
      prefetch.step();
      const int32_t n = std::min(n_waiting, pairs_per_step);
      softener.pairs(n);
      n_waiting -= n;
    });
  }
  softener.scores = ring(n_pieces + 1);
  softener.pairs(kPiece / 2);
  __mmask16 moves = 0;
  for (int r = 0; r < R; ++r) {
    const __m512 limit = _mm512_add_ps(softener.maximum[r], _mm512_set1_ps(kLazyBits));
    moves |= _mm512_cmp_ps_mask(softener.highest[r], limit, _CMP_GT_OQ);
  }
  if (moves != 0) return false;
  add_weights(tile, softener);
  return true;
}

// The same with all scores first: lanes may be masked, and maxima move.
template <int R>
inline void AmxAttention::soften_after_scoring(const AmxGroup& group, int32_t tile) {
  constexpr int32_t kPiece = kPieceTokens<R>;
  constexpr ptrdiff_t kStride = kGroupTokens * kTileLanes;
  for (int32_t piece = 0; piece < group.n_tokens / kPiece; ++piece) {
    const std::byte* keys = keys_of<R>(group, piece);
    score_piece<R>(keys, queries(tile), p_.head_dim, s_.scores + piece * kPiece * kTileLanes,
                   kStride, [] {});
  }
  Softener<R> softener{.p = s_.p, .maximum = {}, .sum = {}, .highest = {}};
  for (int r = 0; r < R; ++r) {
    float* scores = s_.scores + r * kStride;
    if (n_common(group) < group.n_tokens) mask_scores(group, tile + r, scores);
    __m512 highest = _mm512_set1_ps(-INFINITY);
    for (int32_t i = 0; i < group.n_tokens; ++i)
      highest = _mm512_max_ps(highest, _mm512_load_ps(scores + i * kTileLanes));
    raise_maximum(tile + r, highest);
    softener.maximum[r] = _mm512_load_ps(s_.maxima + (tile + r) * kTileLanes);
    softener.sum[r] = _mm512_setzero_ps();
    softener.highest[r] = highest;
  }
  softener.scores = s_.scores;
  softener.tile_stride = kStride;
  softener.pairs(group.n_tokens / 2);
  add_weights(tile, softener);
}

// Scores of tokens that a lane may not see become -infinity, whatever they are.
inline void AmxAttention::mask_scores(const AmxGroup& group, int32_t tile, float* scores) const {
  alignas(64) int32_t n_visible[kTileLanes];
  for (int32_t i = 0; i < kTileLanes; ++i)
    n_visible[i] = p_.position + row_of(tile * kTileLanes + i) + 1 - group.begin;
  const __m512i visible = _mm512_load_si512(n_visible);
  const __m512 nothing = _mm512_set1_ps(-INFINITY);
  for (int32_t t = n_common(group); t < group.n_tokens; ++t) {
    const __mmask16 is_hidden = _mm512_cmple_epi32_mask(visible, _mm512_set1_epi32(t));
    _mm512_mask_store_ps(scores + t * kTileLanes, is_hidden, nothing);
  }
}

// Lanes whose highest score exceeds the maximum by more than kLazyBits get a new one.
inline void AmxAttention::raise_maximum(int32_t tile, __m512 highest) {
  float* maxima = s_.maxima + tile * kTileLanes;
  float* weights = s_.weights + tile * kTileLanes;
  const __m512 old = _mm512_load_ps(maxima);
  const __mmask16 moves =
      _mm512_cmp_ps_mask(highest, _mm512_add_ps(old, _mm512_set1_ps(kLazyBits)), _CMP_GT_OQ);
  if (moves == 0) return;
  const __m512 factor =
      _mm512_mask_mov_ps(_mm512_set1_ps(1.0f), moves, exp2_vector(_mm512_sub_ps(old, highest)));
  _mm512_mask_store_ps(maxima, moves, highest);
  _mm512_store_ps(weights, _mm512_mul_ps(_mm512_load_ps(weights), factor));
  float* sums = this->sums(tile);
  for (int32_t d = 0; d < p_.head_dim; ++d, sums += kTileLanes)
    _mm512_store_ps(sums, _mm512_mul_ps(_mm512_load_ps(sums), factor));
}

template <int R>
inline void AmxAttention::multiply_values(const AmxGroup& group, float* sums,
                                          PlanePrefetch& prefetch) const {
  constexpr int kDims = 4 / R;
  const std::span<const std::byte* const> columns(group.columns,
                                                  static_cast<size_t>(group.n_tokens / kValueTile));
  const int32_t n_dim_tiles = p_.head_dim / kDimTile;
  const auto stride = static_cast<ptrdiff_t>(lane_floats());
  int32_t dt = 0;
  for (; dt + kDims <= n_dim_tiles; dt += kDims) {
    add_value_tiles<R, kDims>(columns, dt * kDimTileStride, s_.p,
                              sums + static_cast<size_t>(dt) * kTileFloats, stride, prefetch);
  }
  if constexpr (kDims == 4) {
    if (dt < n_dim_tiles) {
      add_value_tiles<R, 2>(columns, dt * kDimTileStride, s_.p,
                            sums + static_cast<size_t>(dt) * kTileFloats, stride, prefetch);
    }
  }
}

// Copies the columns that some row does not see whole, with zeros for tokens from `n_visible` on,
// and leaves out those that no row sees. True where a token that only some rows see holds an
// infinity or a NaN.
inline bool AmxAttention::stage_columns(AmxGroup& group, int32_t n_visible) const {
  const int32_t n_common = this->n_common(group);
  __mmask32 is_wild = 0;
  int32_t slot = 0;
  for (int32_t c = n_common / kValueTile; c * kValueTile < n_visible; ++c, ++slot) {
    const int32_t first = c * kValueTile;
    const auto lower = [&](int32_t n) {
      return static_cast<__mmask32>((uint64_t{1} << std::clamp(n - first, 0, kValueTile)) - 1);
    };
    const __mmask32 kept = lower(n_visible), shared = lower(n_common);
    std::byte* to = s_.staged + static_cast<size_t>(slot) * kTileBytes;
    const std::byte* from = group.columns[c];
    const __m512i infinity = _mm512_set1_epi16(0x7F80);
    for (int32_t dt = 0; dt < p_.head_dim / kDimTile; ++dt) {
      for (int32_t i = 0; i < kDimTile; ++i) {
        const ptrdiff_t at = dt * kDimTileStride + i * kAmxRowBytes;
        const __m512i values = _mm512_maskz_loadu_epi16(kept, from + at);
        const __m512i exponent = _mm512_and_si512(values, infinity);
        is_wild |= _mm512_mask_cmpeq_epi16_mask(kept & ~shared, exponent, infinity);
        _mm512_store_si512(to + at, values);
      }
    }
    group.columns[c] = to;
  }
  group.n_tokens = (n_visible + kValueTile - 1) / kValueTile * kValueTile;
  return is_wild != 0;
}

// The values of a group whose last tokens not all rows see. A weight of zero removes a finite
// value; an infinity or a NaN has to be kept from the rows before it row by row.
template <int R>
inline void AmxAttention::add_masked_values(const AmxGroup& group, int32_t tile) {
  PlanePrefetch nothing;
  AmxGroup staged = group;
  if (!stage_columns(staged, std::min(group.n_tokens, end_ - group.begin))) {
    multiply_values<R>(staged, sums(tile), nothing);
    return;
  }
  const size_t n = R * lane_floats();
  std::copy_n(sums(tile), n, s_.before);
  const int32_t last_lane = (tile + R) * kTileLanes - 1;
  for (int32_t row = row_of(tile * kTileLanes); row <= row_of(last_lane); ++row) {
    const int32_t n_visible = p_.position + row + 1 - group.begin;
    if (n_visible <= 0) continue;
    staged = group;
    stage_columns(staged, std::min(group.n_tokens, n_visible));
    std::copy_n(s_.before, n, s_.row);
    multiply_values<R>(staged, s_.row, nothing);
    for (int r = 0; r < R; ++r) {
      __mmask16 is_of_row = 0;
      for (int32_t i = 0; i < kTileLanes; ++i) {
        const bool is_same = row_of((tile + r) * kTileLanes + i) == row;
        is_of_row = static_cast<__mmask16>(is_of_row | static_cast<int>(is_same) << i);
      }
      for (size_t at = 0; at < lane_floats(); at += kTileLanes) {
        const size_t from = static_cast<size_t>(r) * lane_floats() + at;
        _mm512_mask_store_ps(sums(tile + r) + at, is_of_row, _mm512_load_ps(s_.row + from));
      }
    }
  }
}

constexpr AttentionKernel kAmxAttention = {
    .name = "amx",
    .type = DType::kBF16,
    .head_dim_step = kStepDims,
    .keys =
        [](int32_t head_dim) {
          return KvPlane{.token_tile = kKeyTile,
                         .token_tile_stride = kKeyTile * head_dim,
                         .token_stride = kStepDims,
                         .dim_tile = kStepDims,
                         .dim_tile_stride = kKeyTile * kStepDims,
                         .dim_stride = 1};
        },
    .values =
        [](int32_t) {
          return KvPlane{.token_tile = kValueTile,
                         .token_tile_stride = kDimTile * kValueTile,
                         .token_stride = 1,
                         .dim_tile = kDimTile,
                         .dim_tile_stride = kColumnsPerBlock * kDimTile * kValueTile,
                         .dim_stride = kValueTile};
        },
    .append = append<BF16Elements>,
    .scratch_floats =
        [](int32_t n_packed_rows, int32_t head_dim) {
          AmxScratch scratch;
          const int32_t n_tiles = (n_packed_rows + kTileLanes - 1) / kTileLanes;
          return AmxScratch::lay_out(scratch, nullptr, n_tiles, head_dim);
        },
    .attend = [](const AttentionParams& p) { AmxAttention(p).run(); },
};

}  // namespace
}  // namespace slip::cpu
