#include "backend/cpu/kernels/table.h"

#include <array>
#include <string>

#include "base/error.h"

namespace slip::cpu {

#if defined(__x86_64__)
extern const KernelTable kAvx2Kernels;
#endif
extern const KernelTable kBaselineKernels;

std::span<const KernelTable* const> kernel_tables() {
  static constexpr std::array kTables = {
#if defined(__x86_64__)
    &kAvx2Kernels,
#endif
    &kBaselineKernels,
  };
  return kTables;
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
