// AVX-512 (F, BW, VL, DQ): compiled with those options (see ../CMakeLists.txt), called only where
// `supports` says so.
#include "backend/cpu/kernels/make_table_inl.h"

namespace slip::cpu {

extern const KernelTable kAvx512Kernels;
constinit const KernelTable kAvx512Kernels = make_table(
    "avx512", [](const CpuFeatures& f) { return f.avx512 && f.avx2; }, kAttentionKernels,
    exercise_fma);

}  // namespace slip::cpu
