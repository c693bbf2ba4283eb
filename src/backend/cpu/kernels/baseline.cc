// Any processor: the same sources in whatever vectors the compiler's default target has.
#include "backend/cpu/kernels/make_table_inl.h"

namespace slip::cpu {

extern const KernelTable kBaselineKernels;
constinit const KernelTable kBaselineKernels = make_table(
    "baseline", [](const CpuFeatures&) { return true; }, kAttentionKernels, exercise_fma);

}  // namespace slip::cpu
