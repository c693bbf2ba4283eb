// One pass as the device sees it: what changes from step to step lies in device memory, so that
// launches depend on nothing but the shape of the step, and a captured one serves any sequence.
#pragma once

#include <cstddef>
#include <cstdint>

namespace slip::cuda {

struct SegmentData {
  int32_t first_row = 0, n_rows = 0;
  int32_t n_certain = 0;  // leading rows that become part of the recurrent state
  int32_t n_fold = 0;     // accepted rows in `kept` that become part of it first
  int32_t position = 0;   // of the first row
  // Of the sequence.
  std::byte* cache = nullptr;  // block b, of 64 tokens, at b * block_bytes
  float* recurrent = nullptr;  // [n_recurrent_layers, recurrent floats], see kernels/delta_net
  float* conv = nullptr;       // [n_recurrent_layers, conv_kernel - 1, conv_channels]
  float* kept = nullptr;       // [n_recurrent_layers, kDraftTokensMax, kept_width]
};

struct RowData {
  int32_t segment = 0;
  int32_t position = 0;
  int32_t split_tokens = 0;  // of its position, backend/split_rule.h
};

struct StepCounts {
  int32_t n_rows = 0, n_segments = 0;
};

// Device pointers; grids may be larger than the counts.
struct StepView {
  const StepCounts* counts = nullptr;
  const int32_t* tokens = nullptr;  // [n_rows]
  const RowData* rows = nullptr;
  const SegmentData* segments = nullptr;
};

}  // namespace slip::cuda
