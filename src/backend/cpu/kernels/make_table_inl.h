// One row of the kernel table, from the portable sources as this translation unit's options compile
// them.
#pragma once

#include "backend/cpu/kernels/attention_inl.h"
#include "backend/cpu/kernels/delta_net_inl.h"
#include "backend/cpu/kernels/elementwise_inl.h"
#include "backend/cpu/kernels/product_inl.h"
#include "backend/cpu/kernels/strip_product_inl.h"
#include "backend/cpu/kernels/table.h"

namespace slip::cpu {
namespace {

constexpr AttentionKernel kAttentionKernels[] = {attention_kernel<BF16Elements>("fma"),
                                                 attention_kernel<F16Elements>("fma"),
                                                 attention_kernel<F32Elements>("fma")};

// Enough independent sums to hide the latency of FMA on two units, in registers all the time.
inline double exercise_fma() {
  constexpr int kSums = 12;
  constexpr int32_t kRounds = 100000;
  volatile float half = 0.5f;  // what the compiler cannot know
  const Wide factor = splat<Wide>(half);
  Wide sums[kSums];
#pragma GCC unroll 12
  for (int i = 0; i < kSums; ++i) sums[i] = splat<Wide>(half);
  for (int32_t round = 0; round < kRounds; ++round) {
    asm volatile("");  // keeps the loop
#pragma GCC unroll 12
    for (int i = 0; i < kSums; ++i) sums[i] = fma(sums[i], factor, factor);
  }
  Wide total{};
#pragma GCC unroll 12
  for (int i = 0; i < kSums; ++i) total += sums[i];
  half = total[0];
  return 2.0 * kRounds * kSums * kWideLanes;
}

constexpr PackedProducts kOnlyStrips[] = {kPackedStrips};

constexpr KernelTable make_table(std::string_view name, bool (*supports)(const CpuFeatures&),
                                 std::span<const AttentionKernel> attention, double (*exercise)(),
                                 std::span<const PackedProducts> packed = kOnlyStrips) {
  return {
      .name = name,
      .supports = supports,
      .formats = kFormatKernels,
      .packed = packed,
      .rms_norm = rms_norm,
      .silu_mul = silu_mul,
      .add = add,
      .add_scaled = add_scaled,
      .prepare_head = prepare_head,
      .attention = attention,
      .merge = merge,
      .convolve = convolve,
      .l2_normalize = l2_normalize,
      .delta = delta,
      .gated_norm = gated_norm,
      .exercise = exercise,
  };
}

}  // namespace
}  // namespace slip::cpu
