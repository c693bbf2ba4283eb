#include "backend/cuda/kernels/product/dot_rows.h"
#include "backend/cuda/kernels/product/plain.h"
#include "backend/cuda/tile/lanes.h"
#include "backend/cuda/tile/launch.h"
#include "backend/cuda/tile/math.h"

namespace slip::cuda {
namespace {

constexpr int kPlainRows = 8;  // of x that share a weight's decoding
constexpr unsigned kPlainWarps = 8;

// Column `column` of the result for up to kPlainRows rows.
__device__ void store_column(const ProductParams& p, int32_t column, int32_t row, int n_rows) {
  int64_t out = column;
  int at = 0;
  while (p.epilogue == ProductEpilogue::kNone && out >= p.weights[at].n_out)
    out -= p.weights[at++].n_out;
  float sums[kPlainRows], ups[kPlainRows];
  const float* x = p.x + row * p.x_stride;
  dot_rows(p.weights[at], out, x, p.x_stride, n_rows, sums);
  const bool is_gated = p.epilogue == ProductEpilogue::kSiluMul;
  if (is_gated) dot_rows(p.weights[1], out, x, p.x_stride, n_rows, ups);
  if (lane_index() != 0) return;
  for (int r = 0; r < n_rows; ++r) {
    float* to = p.out + (row + r) * p.out_stride + column;
    const float bias = p.bias == nullptr ? 0.0f : p.bias[column];
    if (p.epilogue == ProductEpilogue::kNone) *to = sums[r] + bias;
    if (is_gated) *to = silu(sums[r]) * ups[r];
    if (p.epilogue == ProductEpilogue::kAddResidual) *to += sums[r];
  }
}

int32_t n_columns(const ProductParams& p) {
  if (p.epilogue != ProductEpilogue::kNone) return p.weights[0].n_out;
  int32_t n = 0;
  for (int32_t i = 0; i < p.n_weights; ++i) n += p.weights[i].n_out;
  return n;
}

struct PlainProduct {
  ProductParams product;
  int32_t n_columns;
};

// A warp for each column, a block row for each kPlainRows rows.
__global__ void __launch_bounds__(kPlainWarps* kWarpLanes) plain_kernel(PlainProduct p) {
  const auto column = static_cast<int32_t>(blockIdx.x * kPlainWarps) + warp_index();
  const auto row = static_cast<int32_t>(blockIdx.y) * kPlainRows;
  const int32_t n_rows = *p.product.n_rows - row;
  if (column >= p.n_columns || n_rows <= 0) return;
  store_column(p.product, column, row, n_rows < kPlainRows ? n_rows : kPlainRows);
}

}  // namespace

void multiply_plain(Stream& stream, const ProductParams& params, int32_t n_rows_max) {
  const int32_t columns = n_columns(params);
  launch(stream, plain_kernel,
         {.blocks = {blocks_for(columns, kPlainWarps), blocks_for(n_rows_max, kPlainRows)},
          .threads = kPlainWarps * kWarpLanes},
         {params, columns});
}

}  // namespace slip::cuda
