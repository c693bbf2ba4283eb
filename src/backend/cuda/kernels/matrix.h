// A weight matrix as kernels see it: WeightView with addresses of the device, each aligned as its
// elements are.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/quant.h"

namespace slip::cuda {

struct DeviceMatrix {
  WeightFormat format = WeightFormat::kF32;
  DType scale_type = DType::kBF16;  // of scales and biases
  int32_t n_out = 0, n_in = 0;
  int32_t group_size = 0;  // columns that share a scale; 0: no scales
  int32_t code_bits = 0;
  const std::byte* data = nullptr;
  const std::byte* scales = nullptr;
  const std::byte* biases = nullptr;  // affine only
};

inline DeviceMatrix at_device(const WeightView& weight, const std::byte* data,
                              const std::byte* scales, const std::byte* biases) {
  return {.format = weight.format,
          .scale_type = weight.scale_type,
          .n_out = weight.n_out,
          .n_in = weight.n_in,
          .group_size = weight.group_size,
          .code_bits = code_bits(weight.format),
          .data = data,
          .scales = scales,
          .biases = biases};
}

}  // namespace slip::cuda
