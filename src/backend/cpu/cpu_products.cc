#include "backend/cpu/cpu_products.h"

#include <algorithm>

namespace slip::cpu {

void CpuProducts::pack(MatrixRef ref) {
  const WeightView& weight = storage_.matrix(ref);
  packed_.resize(std::max(packed_.size(), static_cast<size_t>(ref) + 1));
  Packed& packed = packed_[static_cast<size_t>(ref)];
  packed.kernel = kernels_.packed.maybe_for(weight);
  if (packed.kernel == nullptr) return;
  packed.bytes = ByteBuffer(packed.kernel->packed_bytes(weight));
  pool_.run((weight.n_out + kPackedOuts - 1) / kPackedOuts,
            [&](int strip, int) { packed.kernel->pack_strip(weight, strip, packed.bytes.data()); });
}

std::string_view CpuProducts::kernel(MatrixRef ref) const {
  const Packed* packed = maybe_packed(ref);
  return packed == nullptr ? "fma" : packed->kernel->name;
}

int64_t CpuProducts::packed_bytes() const {
  size_t sum = 0;
  for (const Packed& packed : packed_) sum += packed.bytes.n_bytes();
  return static_cast<int64_t>(sum);
}

size_t CpuProducts::input_bytes(int32_t n_rows, int32_t n_in) const {
  const size_t n_bytes = kernels_.packed.input_bytes(n_rows, n_in);
  return whole_lines((n_bytes + sizeof(float) - 1) / sizeof(float)) * sizeof(float);
}

void CpuProducts::prepare_row(const Inputs& x, int32_t n_in, int32_t row) const {
  kernels_.packed.prepare_row({.x = x.rows + static_cast<size_t>(row) * x.stride,
                               .n_in = n_in,
                               .row = row,
                               .n_rows = x.n_rows,
                               .inputs = x.prepared});
}

void CpuProducts::multiply(const Range& range, const Inputs& x, float* y, size_t y_stride,
                           float* scratch) const {
  const WeightView& weight = storage_.matrix(range.ref);
  if (const Packed* packed = maybe_packed(range.ref)) {
    packed->kernel->product({.weight = &weight,
                             .packed = packed->bytes.data(),
                             .strip = range.begin / kPackedOuts,
                             .inputs = x.prepared,
                             .n_rows = x.n_rows,
                             .y = y,
                             .y_stride = y_stride,
                             .n_outs = range.end - range.begin,
                             .scratch = reinterpret_cast<std::byte*>(scratch)});
    return;
  }
  kernels_.product({.weight = &weight,
                    .out_begin = range.begin,
                    .out_end = range.end,
                    .x = x.rows,
                    .y = y,
                    .x_stride = x.stride,
                    .y_stride = y_stride,
                    .n_rows = x.n_rows,
                    .scratch = scratch});
}

size_t CpuProducts::scratch_floats(int32_t n_rows) const {
  return whole_lines(
      std::max(product_scratch_floats(n_rows), kernels_.packed.scratch_bytes / sizeof(float)));
}

}  // namespace slip::cpu
