// Weights in the memory of a GPU, in the order of the file.
#pragma once

#include <span>
#include <vector>

#include "backend/cuda/device/device.h"
#include "backend/cuda/kernels/experts/experts.h"
#include "backend/cuda/kernels/matrix.h"
#include "model/ops.h"

namespace slip::cuda {

class DeviceWeights {
 public:
  explicit DeviceWeights(Stream& stream) : stream_(stream) {}

  // The bytes of `weight` stay untouched until the stream waits next. Throw
  // Error{kInsufficientMemory}.
  MatrixRef add(const WeightView& weight);
  VectorRef add(std::span<const float> values);
  ExpertsRef add(std::span<const FfnRefs> experts, const FfnRefs& shared);

  const DeviceMatrix& matrix(MatrixRef ref) const { return matrices_[static_cast<size_t>(ref)]; }
  const float* vector(VectorRef ref) const {  // null for kNone
    return ref == VectorRef::kNone ? nullptr : vectors_[static_cast<size_t>(ref)];
  }
  const ExpertMatrices* experts(ExpertsRef ref) const { return experts_[static_cast<size_t>(ref)]; }

  int64_t n_bytes() const;  // of the device, what is left over at ends included

 private:
  // Aligned for every vector of a kernel.
  std::byte* allocate(size_t n_bytes);
  std::byte* upload(const void* from, size_t n_bytes);

  Stream& stream_;
  std::vector<DeviceMemory<std::byte>> chunks_;
  size_t n_used_ = 0;  // of the last chunk
  std::vector<DeviceMatrix> matrices_;
  std::vector<const float*> vectors_;
  std::vector<const ExpertMatrices*> experts_;
};

}  // namespace slip::cuda
