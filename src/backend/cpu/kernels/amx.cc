// AMX for attention on a BF16 cache, AVX-512 for everything else: compiled with those options (see
// ../CMakeLists.txt), called only where `supports` says so.
#include "backend/cpu/kernels/amx_attention_inl.h"
#include "backend/cpu/kernels/make_table_inl.h"

namespace slip::cpu {
namespace {

constexpr AttentionKernel kAmxTableAttention[] = {kAmxAttention, kAttentionKernels[0],
                                                  kAttentionKernels[1], kAttentionKernels[2]};

}  // namespace

extern const KernelTable kAmxKernels;
constinit const KernelTable kAmxKernels = make_table(
    "amx", [](const CpuFeatures& f) { return f.amx_bf16 && f.avx512_bf16 && f.avx2; },
    kAmxTableAttention, exercise_tiles);

}  // namespace slip::cpu
