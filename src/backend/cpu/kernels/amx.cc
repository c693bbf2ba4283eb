// AMX for attention on a BF16 cache and for products, AVX-512 for everything else: compiled with
// those options (see ../CMakeLists.txt), called only where `supports` says so.
#include "backend/cpu/kernels/amx_attention_inl.h"
#include "backend/cpu/kernels/amx_product_inl.h"
#include "backend/cpu/kernels/make_table_inl.h"

namespace slip::cpu {
namespace {

constexpr AttentionKernel kAmxTableAttention[] = {kAmxAttention, kAttentionKernels[0],
                                                  kAttentionKernels[1], kAttentionKernels[2]};

constexpr PackedProduct kAmxProducts[] = {
    amx_product<Codes8>(WeightFormat::kAffine8), amx_product<Codes4>(WeightFormat::kAffine4),
    amx_product<CodesE4M3>(WeightFormat::kFp8Block), kAmxBF16Product};

constexpr PackedProducts kAmxPacked[] = {{.name = "amx",
                                          .kernels = kAmxProducts,
                                          .input_bytes = amx_input_bytes,
                                          .prepare_row = amx_prepare_row,
                                          .scratch_bytes = sizeof(AmxProductScratch),
                                          .rounds_inputs = true},
                                         kPackedStrips};

}  // namespace

extern const KernelTable kAmxKernels;
constinit const KernelTable kAmxKernels = make_table(
    "amx",
    [](const CpuFeatures& f) { return f.amx_bf16 && f.avx512_bf16 && f.avx512_vbmi && f.avx2; },
    kAmxTableAttention, exercise_tiles, kAmxPacked);

}  // namespace slip::cpu
