// One row of the kernel table, from the portable sources as this translation unit's options compile
// them.
#pragma once

#include "backend/cpu/kernels/attention_inl.h"
#include "backend/cpu/kernels/delta_net_inl.h"
#include "backend/cpu/kernels/elementwise_inl.h"
#include "backend/cpu/kernels/product_inl.h"
#include "backend/cpu/kernels/table.h"

namespace slip::cpu {
namespace {

constexpr KernelTable make_table(std::string_view name, bool (*supports)(const CpuFeatures&)) {
  return {
      .name = name,
      .supports = supports,
      .formats = kFormatKernels,
      .rms_norm = rms_norm,
      .silu_mul = silu_mul,
      .add = add,
      .add_scaled = add_scaled,
      .prepare_head = prepare_head,
      .attend = attend,
      .merge = merge,
      .convolve = convolve,
      .l2_normalize = l2_normalize,
      .delta = delta,
      .gated_norm = gated_norm,
  };
}

}  // namespace
}  // namespace slip::cpu
