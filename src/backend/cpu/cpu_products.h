// y = W x for every matrix of a model: each in the order of the best kernel for it, copied once at
// load, or as it lies in the file where no kernel has an order of its own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/cpu/kernels/table.h"
#include "backend/cpu/lanes.h"
#include "backend/cpu/ops_storage.h"
#include "base/thread_pool.h"
#include "tensor/buffer.h"

namespace slip::cpu {

class CpuProducts {
 public:
  // All of them outlive this object. `lane` says which order to pack in, if any. Throws
  // Error{kInvalidArgument} where it asks for a kernel that the table does not have.
  CpuProducts(const OpsStorage& storage, ThreadPool& pool, const KernelTable& kernels, Lane& lane);

  // Outputs that a thread takes at a time: at most, and where any of the matrices is packed.
  static constexpr int32_t kOutsPerItem = kPackedOuts;

  // At load, before the first product by it. The first matrix of a shape is checked against the
  // plain kernel; where they differ the lane is retired, and all matrices stay as they lie.
  void pack(MatrixRef ref);
  bool is_packed(MatrixRef ref) const { return maybe_packed(ref) != nullptr; }
  bool any_packed(std::span<const MatrixRef> refs) const {
    return std::ranges::any_of(refs, [&](MatrixRef ref) { return is_packed(ref); });
  }
  std::string_view kernel(MatrixRef ref) const;
  // Of one operation by `refs`.
  void count(std::span<const MatrixRef> refs, int32_t n_rows);
  int64_t packed_bytes() const;

  // Rows of x as products read them: as floats, and once more in the order of packed products.
  struct Inputs {
    const float* rows;
    size_t stride;
    int32_t n_rows;
    std::byte* prepared;  // [input_bytes(n_rows, n_in)], on a cache line
  };
  size_t input_bytes(int32_t n_rows, int32_t n_in) const;
  // Fills the part of `x.prepared` that belongs to `row`.
  void prepare_row(const Inputs& x, int32_t n_in, int32_t row) const;

  // Outputs [begin, end) of all rows: y is [n_rows, end - begin], rows y_stride apart. Where the
  // matrix is packed, x is prepared, `begin` is a multiple of kOutsPerItem and `end` the next one
  // or the last output.
  struct Range {
    MatrixRef ref;
    int32_t begin, end;
  };
  void multiply(const Range& range, const Inputs& x, float* y, size_t y_stride,
                float* scratch) const;
  // The same as the weights lie: the definition of multiply().
  void multiply_plain(const Range& range, const Inputs& x, float* y, size_t y_stride,
                      float* scratch) const;
  // Floats of `scratch`, a multiple of a cache line.
  size_t scratch_floats(int32_t n_rows) const;

 private:
  // Without a kernel where a matrix stays as it lies.
  struct Packed {
    const PackedProduct* kernel = nullptr;
    ByteBuffer bytes{};
  };
  const Packed* maybe_packed(MatrixRef ref) const {
    const auto i = static_cast<size_t>(ref);
    return i < packed_.size() && packed_[i].kernel != nullptr ? &packed_[i] : nullptr;
  }

  std::string fault_of(MatrixRef ref) const;
  bool was_checked(const WeightView& weight);
  LaneRefusal why_plain(MatrixRef ref) const;

  const OpsStorage& storage_;
  ThreadPool& pool_;
  const KernelTable& kernels_;
  Lane& lane_;
  const PackedProducts& order_;
  std::vector<Packed> packed_;       // by MatrixRef
  std::vector<WeightView> checked_;  // one of each shape
};

}  // namespace slip::cpu
