// y = W x by definition: any weight format, float arithmetic, one order of additions for all rows.
// What faster products are compared with, and what runs where there is none.
#pragma once

#include "backend/cuda/device/device.h"
#include "backend/cuda/kernels/matrix.h"

namespace slip::cuda {

inline constexpr int32_t kWeightsMax = 4;  // matrices of one product

enum class ProductEpilogue : uint8_t {
  kNone,         // out = [W0 x | W1 x | ...], bias added
  kSiluMul,      // out = silu(W0 x) * (W1 x)
  kAddResidual,  // out += W0 x
};

struct ProductParams {
  const int32_t* n_rows = nullptr;  // of the device; rows beyond do nothing
  const float* x = nullptr;         // [n_rows, x_stride]
  int64_t x_stride = 0;
  DeviceMatrix weights[kWeightsMax];  // all of the same n_in
  int32_t n_weights = 0;
  ProductEpilogue epilogue = ProductEpilogue::kNone;
  const float* bias = nullptr;  // [sum of n_out] with kNone; null: none
  float* out = nullptr;         // [n_rows, out_stride], never x
  int64_t out_stride = 0;
};

//   n_rows_max  at least *params.n_rows
void multiply_plain(Stream& stream, const ProductParams& params, int32_t n_rows_max);

}  // namespace slip::cuda
