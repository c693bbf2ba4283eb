// Rows from place to place.
#pragma once

#include <cstdint>

#include "backend/cuda/device/device.h"

namespace slip::cuda {

struct RowPair {
  int32_t from, to;
};

struct CopyParams {
  const int32_t* n_pairs = nullptr;  // of the device; pairs beyond do nothing
  const RowPair* pairs = nullptr;
  const float* from = nullptr;  // rows of `width` floats
  float* to = nullptr;          // likewise; no row is both read and written, or written twice
  int32_t width = 0;
};

// to[pair.to] = from[pair.from].
//   n_pairs_max  at least *params.n_pairs
void copy_rows(Stream& stream, const CopyParams& params, int32_t n_pairs_max);

}  // namespace slip::cuda
