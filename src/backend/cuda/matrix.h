// A weight matrix as kernels see it. Addresses are the device's.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/quant.h"

namespace slip::cuda {

enum class MatrixLayout : uint8_t {
  kRows,   // as in the file, see WeightView
  kTiles,  // for the matrix units, see kernels/product/tiles.h
};

struct DeviceMatrix {
  WeightFormat format = WeightFormat::kF32;
  MatrixLayout layout = MatrixLayout::kRows;
  DType scale_type = DType::kBF16;
  int32_t n_out = 0, n_in = 0;
  int32_t group_size = 0;  // columns that share a scale; 0: no scales
  const std::byte* data = nullptr;
  const std::byte* scales = nullptr;
  const std::byte* biases = nullptr;  // kRows and affine only
};

}  // namespace slip::cuda
