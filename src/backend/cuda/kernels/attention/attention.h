// Attention of a step (model specification 4.2, 4.4), in three launches: heads are normalised and
// turned, keys and values appended; every row looks at its own positions, split by split; splits
// are merged. A row's splits depend on its position alone, and nothing above it reaches it.
#pragma once

#include "backend/cuda/device/device.h"
#include "backend/cuda/kernels/attention/cache_layout.h"
#include "backend/cuda/kernels/step_data.h"

namespace slip::cuda {

struct AttentionParams {
  StepView step;
  CacheLayout cache;
  int32_t kv_layer = 0;
  int32_t n_heads = 0;       // of queries
  int32_t query_stride = 0;  // columns of a query head; its gate lies behind it where 2 head_dim
  float eps = 0;             // of the head norms
  const float* q_norm = nullptr;     // [head_dim]; null: none
  const float* k_norm = nullptr;     // likewise
  const float* turns = nullptr;      // [n_rows, 2 n_pairs]: cosines, sines; see turn_rows
  int32_t n_pairs = 0;               // (i, i + n_pairs) are turned
  const float* projected = nullptr;  // [n_rows, projected_stride]: query heads | k | v
  int64_t projected_stride = 0;
  float* queries = nullptr;  // scratch, [n_rows, n_heads, head_dim]
  // Scratch of the rows from first_row on: [n_splits, slab_rows, n_heads] and, of sums, head_dim.
  float* sums = nullptr;
  float* maxima = nullptr;
  float* weights = nullptr;
  int32_t n_splits = 0;                  // W of backend/split_rule.h
  int32_t first_row = 0, slab_rows = 0;  // of attend and merge
  float* mixed = nullptr;                // [n_rows, mixed_stride]
  int64_t mixed_stride = 0;
};

struct TurnParams {
  StepView step;
  const float* frequencies = nullptr;  // [n_pairs] radians per position
  int32_t n_pairs = 0;
  float magnitude = 1;     // multiplies cosine and sine
  float* turns = nullptr;  // [n_rows, 2 n_pairs]
};

// Once for all layers of a step.
void turn_rows(Stream& stream, const TurnParams& params, int32_t n_rows_max);

// Keys and values of all rows into their sequences' caches; query heads, scaled by
// 1 / sqrt(head_dim), into `queries`.
void append(Stream& stream, const AttentionParams& params, int32_t n_rows_max);

// By definition, for every type and head_dim up to 256: rows [first_row, first_row + slab_rows)
// into sums, maxima and weights. append() comes before.
void attend_plain(Stream& stream, const AttentionParams& params);

// The same rows into `mixed`, splits in ascending order, gated where there is a gate.
void merge_splits(Stream& stream, const AttentionParams& params);

}  // namespace slip::cuda
