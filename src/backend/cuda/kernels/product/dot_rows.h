// Rows of x by one row of a matrix, by a warp: the order of additions of every plain product.
#pragma once

#include "backend/cuda/kernels/weight_value.h"
#include "backend/cuda/tile/lanes.h"

namespace slip::cuda {

// sums[r] = row `out` of `m` times x + r * x_stride, for r < n_rows; every lane gets the sums. A
// lane adds every 32nd term, the lanes are added by a fixed tree: no sum depends on the rows beside
// it.
template <int kRows>
__device__ __forceinline__ void dot_rows(const DeviceMatrix& m, int64_t out, const float* x,
                                         int64_t x_stride, int n_rows, float (&sums)[kRows]) {
  for (float& sum : sums) sum = 0;
  for (int32_t i = lane_index(); i < m.n_in; i += kWarpLanes) {
    const float weight = weight_value(m, out, i);
    SLIP_UNROLL
    for (int r = 0; r < kRows; ++r)
      if (r < n_rows) sums[r] = fmaf(weight, x[r * x_stride + i], sums[r]);
  }
  SLIP_UNROLL
  for (int r = 0; r < kRows; ++r) sums[r] = sum_of_lanes(sums[r]);
}

// Of one row.
__device__ __forceinline__ float dot(const DeviceMatrix& m, int64_t out, const float* x) {
  float sum[1];
  dot_rows(m, out, x, 0, 1, sum);
  return sum[0];
}

}  // namespace slip::cuda
