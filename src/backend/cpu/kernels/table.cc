#include "backend/cpu/kernels/table.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/check.h"
#include "base/error.h"

namespace slip::cpu {

#if defined(__x86_64__)
extern const KernelTable kAmxKernels;
extern const KernelTable kAvx512Kernels;
extern const KernelTable kAvx2Kernels;
#endif
extern const KernelTable kBaselineKernels;

std::span<const KernelTable* const> kernel_tables() {
  static constexpr std::array kTables = {
#if defined(__x86_64__)
    &kAmxKernels,
    &kAvx512Kernels,
    &kAvx2Kernels,
#endif
    &kBaselineKernels,
  };
  return kTables;
}

const PackedProduct* PackedProducts::maybe_for(const WeightView& weight, bool in_any_shape) const {
  const auto found = std::ranges::find_if(kernels, [&](const PackedProduct& kernel) {
    return kernel.format == weight.format && (in_any_shape || kernel.can(weight));
  });
  return found == kernels.end() ? nullptr : &*found;
}

const AttentionKernel& KernelTable::attention_for(DType type, int32_t head_dim) const {
  const auto found = std::ranges::find_if(
      attention, [&](const AttentionKernel& kernel) { return kernel.can(type, head_dim); });
  SLIP_CHECK(found != attention.end());
  return *found;
}

const AttentionKernel& KernelTable::attention_on(const KvFormat& format, int32_t head_dim) const {
  const auto found = std::ranges::find_if(attention, [&](const AttentionKernel& kernel) {
    return kernel.can(format.type, head_dim) && kernel.format(head_dim) == format;
  });
  SLIP_CHECK(found != attention.end());
  return *found;
}

const KernelTable& choose(const CpuFeatures& features, std::string_view forced_name) {
  std::string usable;
  for (const KernelTable* table : kernel_tables()) {
    if (!table->supports(features)) continue;
    if (forced_name.empty() || forced_name == table->name) return *table;
    usable.append(table->name).append(", ");
  }
  // The definition is no table; whoever reads the option knows it by that name.
  throw Error(ErrorCode::kInvalidArgument, "kernels: found \"" + std::string(forced_name) +
                                               "\", wanted one of " + usable + "reference");
}

}  // namespace slip::cpu
