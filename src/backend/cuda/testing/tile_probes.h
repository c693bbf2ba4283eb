// Kernels that show one word of tile/ each, for its tests.
#pragma once

#include <cstdint>

#include "backend/cuda/device/device.h"

namespace slip::cuda {

struct MultiplyAddProbe {
  const uint16_t* a = nullptr;  // [16, 16]
  const uint16_t* b = nullptr;  // [16, 8]
  float* d = nullptr;           // [16, 8], added to
  bool is_f16 = false;          // else BF16
};
void probe_multiply_add(Stream& stream, const MultiplyAddProbe& probe);

struct LoadMatricesProbe {
  const uint16_t* matrices = nullptr;  // [4, 8, 8]
  uint16_t* out = nullptr;             // [4, 8, 8] as the lanes hold them
  bool is_transposed = false;
};
void probe_load_matrices(Stream& stream, const LoadMatricesProbe& probe);

struct HalvesProbe {
  const float* x = nullptr;  // [n]
  uint16_t* bf16 = nullptr;  // [n]
  uint16_t* f16 = nullptr;   // [n]
  int32_t n = 0;             // at most 32
};
void probe_halves(Stream& stream, const HalvesProbe& probe);

struct LanesProbe {
  const float* x = nullptr;                  // [64], two warps
  float *sums = nullptr, *maxima = nullptr;  // [64] what each lane got
  int n_lanes = 0;                           // of a group
};
void probe_lanes(Stream& stream, const LanesProbe& probe);

struct CopiesProbe {
  const uint16_t* from = nullptr;  // [2, 32, 8], two groups
  uint16_t* out = nullptr;
};
void probe_copies(Stream& stream, const CopiesProbe& probe);

}  // namespace slip::cuda
