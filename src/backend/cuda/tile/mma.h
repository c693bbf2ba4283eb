// Matrix units as every GPU since sm_80 has them: D[16, 8] += A[16, 16] B[16, 8] by a warp. Lane l
// has row g = l / 4 and pair t = l % 4 (PTX ISA, "Matrix Fragments for mma.m16n8k16"):
//   a[0], a[1]  rows g and g + 8, columns 2 t and 2 t + 1
//   a[2], a[3]  the same rows, columns 2 t + 8 and 2 t + 9
//   b[0], b[1]  column g, rows 2 t, 2 t + 1, and 2 t + 8, 2 t + 9
//   d[0], d[1]  row g, columns 2 t and 2 t + 1; d[2], d[3]  row g + 8
#pragma once

#include "backend/cuda/tile/bits.h"
#include "backend/cuda/tile/lanes.h"

namespace slip::cuda {

enum class Half : uint8_t { kBF16, kF16 };  // what 16 bits mean

#if !defined(__CUDACC__)
namespace emulation {
template <Half kType>
void multiply_add(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  struct Lane {
    uint32_t a[4], b[2];
  } mine;
  std::memcpy(mine.a, a, sizeof a);
  std::memcpy(mine.b, b, sizeof b);
  const std::byte* const* lanes = exchange(kAllLanes, &mine, sizeof mine);
  const auto half = [](uint32_t word, int i) {
    const auto bits = static_cast<uint16_t>(i == 0 ? word : word >> 16);
    return kType == Half::kBF16 ? from_bf16(bits) : from_f16(bits);
  };
  const int lane = lane_index();
  for (int i = 0; i < 4; ++i) {
    const int row = lane / 4 + i / 2 * 8, column = 2 * (lane % 4) + i % 2;
    float sum = 0;
    for (int k = 0; k < 16; ++k) {
      const auto from_a = lane_value<Lane>(lanes, row % 8 * 4 + k % 8 / 2);
      const auto from_b = lane_value<Lane>(lanes, column * 4 + k % 8 / 2);
      sum += half(from_a.a[row / 8 + k / 8 * 2], k % 2) * half(from_b.b[k / 8], k % 2);
    }
    d[i] += sum;
  }
}
}  // namespace emulation
#endif

template <Half kType>
__device__ __forceinline__ void multiply_add(float (&d)[4], const uint32_t (&a)[4],
                                             const uint32_t (&b)[2]) {
#if !defined(__CUDACC__)
  emulation::multiply_add<kType>(d, a, b);
#else
  if constexpr (kType == Half::kBF16) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  } else {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
#endif
}

// Four 8 x 8 matrices of 16-bit values from shared memory. Lanes 8 i to 8 i + 7 give the addresses
// of the rows of matrix i, 16 aligned bytes each; afterwards lane l has in r[i] the values 2 (l %
// 4) and the next one of row l / 4 of matrix i, or, transposed, of column l / 4.
template <bool kTransposed>
__device__ __forceinline__ void load_matrices(uint32_t (&r)[4], const void* row) {
#if !defined(__CUDACC__)
  const std::byte* const* lanes = emulation::exchange(kAllLanes, &row, sizeof row);
  const int lane = lane_index();
  for (int i = 0; i < 4; ++i) {
    uint16_t pair[2];
    for (int j = 0; j < 2; ++j) {
      const int from = kTransposed ? 2 * (lane % 4) + j : lane / 4;
      const int column = kTransposed ? lane / 4 : 2 * (lane % 4) + j;
      const auto* bytes = emulation::lane_value<const std::byte*>(lanes, 8 * i + from);
      std::memcpy(&pair[j], bytes + 2 * column, 2);
    }
    r[i] = pair_of(pair[0], pair[1]);
  }
#else
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(row));
  if constexpr (kTransposed) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address)
                 : "memory");
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address)
                 : "memory");
  }
#endif
}

}  // namespace slip::cuda
