// AVX2 with FMA: compiled with -mavx2 -mfma (see ../CMakeLists.txt), called only where `supports`
// says so.
#include "backend/cpu/kernels/make_table_inl.h"

namespace slip::cpu {

extern const KernelTable kAvx2Kernels;
constinit const KernelTable kAvx2Kernels = make_table(
    "avx2", [](const CpuFeatures& f) { return f.avx2; }, kAttentionKernels, exercise_fma);

}  // namespace slip::cpu
