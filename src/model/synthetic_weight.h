// Matrices of random numbers: as good as real ones where only time and memory are measured.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tensor/quant.h"

namespace slip {

// A matrix without data, with scales as checkpoints have them: affine in groups of 64, FP8 in
// blocks of 128. Throws Error{kUnsupportedModel} for a width that the groups cannot divide.
WeightView weight_shape(WeightFormat format, int32_t n_out, int32_t n_in);

// Of codes, scales and biases that a matrix of this shape has.
size_t stored_bytes(const WeightView& shape);

// `shape` with `bytes` for its data, filled with values around 0. Plain formats: BF16 only.
//   bytes      [stored_bytes(shape)], aligned for 32-bit words
//   deviation  root mean square of the values, about
WeightView fill_weight(WeightView shape, float deviation, std::span<std::byte> bytes);

}  // namespace slip
