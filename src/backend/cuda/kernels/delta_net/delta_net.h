// The gated delta net (model specification 4.5): convolution, recurrence, gated norm.
//
// Keeps the recurrent state of what is certain. A pass folds the rows that were accepted since the
// last one, steps through its own, stores the state behind the certain ones and goes on with the
// drafted ones in registers. A row is stepped by the same code whenever that happens, so that
// folding it gives the bits that running it gave.
#pragma once

#include "backend/cuda/device/device.h"
#include "backend/cuda/kernels/delta_net/state_index.h"
#include "backend/cuda/kernels/step_data.h"

namespace slip::cuda {

inline constexpr int32_t kConvKernelMax = 8;
inline constexpr int32_t kKeyDimMax = 256;

struct DeltaNetParams {
  StepView step;
  int32_t n_key_heads = 0, n_value_heads = 0;  // value head h uses key head h / (n_value / n_key)
  int32_t key_dim = 0;                         // a multiple of 8, at most kKeyDimMax
  int32_t value_dim = 0;                       // a multiple of 8
  int32_t conv_kernel = 0;                     // at most kConvKernelMax
  float eps = 0;
  const float* projected = nullptr;  // [n_rows, projected_stride]: q | k | v | z | b | a
  int64_t projected_stride = 0;
  const float* taps = nullptr;     // [conv_channels, conv_kernel]
  const float* a_log = nullptr;    // [n_value_heads]
  const float* dt_bias = nullptr;  // [n_value_heads]
  const float* norm = nullptr;     // [value_dim]
  int64_t recurrent_offset = 0;    // of the layer, in floats: [n_value_heads, head_floats()]
  int64_t conv_offset = 0;         // [conv_kernel - 1, conv_channels], oldest first
  int64_t kept_offset = 0;         // [kDraftTokensMax, kept_width]
  float* gates = nullptr;          // scratch, [n_rows, 2 n_value_heads]
  float* read = nullptr;           // scratch, [n_rows, value_width]
  float* mixed = nullptr;          // [n_rows, mixed_stride], value_width written
  int64_t mixed_stride = 0;

  constexpr int32_t key_width() const { return n_key_heads * key_dim; }
  constexpr int32_t value_width() const { return n_value_heads * value_dim; }
  constexpr int32_t conv_channels() const { return 2 * key_width() + value_width(); }
  // A kept row: q | k | v before the convolution | decay | beta.
  constexpr int32_t kept_width() const { return conv_channels() + 2 * n_value_heads; }
};

//   n_rows_max, n_segments_max  at least the counts of the step
void delta_net(Stream& stream, const DeltaNetParams& params, int32_t n_rows_max,
               int32_t n_segments_max);

}  // namespace slip::cuda
