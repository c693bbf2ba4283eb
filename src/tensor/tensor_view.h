// A typed, shaped window on bytes that somebody else owns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tensor/dtype.h"

namespace slip {

struct TensorView {
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;       // row-major; empty for a scalar
  const std::byte* data = nullptr;  // [n_elements * element_bytes], may be unaligned
  size_t n_bytes = 0;

  int64_t n_elements() const;
};

// "[8192, 384]"
std::string describe_shape(const std::vector<int64_t>& shape);

// The elements as floats. F32, F16, BF16 only; throws Error{kUnsupportedModel} naming the type
// otherwise.
std::vector<float> to_floats(const TensorView& view);

}  // namespace slip
