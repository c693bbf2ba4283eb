// Root-mean-square norms of rows.
#pragma once

#include <cstdint>

#include "backend/cuda/device/device.h"

namespace slip::cuda {

struct NormParams {
  const int32_t* n_rows = nullptr;  // of the device; rows beyond do nothing
  const float* x = nullptr;         // [n_rows, x_stride]
  const float* weight = nullptr;    // [dim]
  float* y = nullptr;               // [n_rows, y_stride], may be x
  int32_t dim = 0;
  int64_t x_stride = 0, y_stride = 0;
  float eps = 0;
};

// y[i] = x[i] / sqrt(mean(x^2) + eps) * weight[i].
//   n_rows_max  at least *params.n_rows
void norm(Stream& stream, const NormParams& params, int32_t n_rows_max);

}  // namespace slip::cuda
