#include "base/cpu_features.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace slip {
namespace {

constexpr uint64_t bits(auto... positions) { return ((uint64_t{1} << positions) | ...); }
constexpr bool has(uint64_t word, uint64_t wanted) { return (word & wanted) == wanted; }

constexpr uint64_t kLeaf1EcxAvx2 = bits(12, 28, 29);        // FMA, AVX, F16C
constexpr uint64_t kLeaf7EbxAvx2 = bits(5);                 // AVX2
constexpr uint64_t kLeaf7EbxAvx512 = bits(16, 17, 30, 31);  // F, DQ, BW, VL
constexpr uint64_t kLeaf7EcxAvx512Vbmi = bits(1);
constexpr uint64_t kLeaf7Sub1EaxAvx512Bf16 = bits(5);
constexpr uint64_t kLeaf7EdxAmx = bits(22, 24);        // BF16, TILE
constexpr uint64_t kXcr0Avx = bits(1, 2);              // xmm, ymm
constexpr uint64_t kXcr0Avx512 = bits(1, 2, 5, 6, 7);  // and masks, zmm halves
constexpr uint64_t kXcr0Amx = bits(17, 18);            // tile configuration, tile data

#if defined(__x86_64__)

constexpr uint32_t kLeaf1EcxOsxsave = 1u << 27;  // xgetbv may be used

CpuidWords read_cpuid() {
  CpuidWords words;
  uint32_t eax = 0;
  uint32_t ebx = 0;
  uint32_t ecx = 0;
  uint32_t edx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0) return words;
  words.leaf1_ecx = ecx;
  if ((ecx & kLeaf1EcxOsxsave) == 0) return words;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0) {
    words.leaf7_ebx = ebx;
    words.leaf7_ecx = ecx;
    words.leaf7_edx = edx;
  }
  // Where there is no such subleaf, it reads as zeros.
  if (__get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0) words.leaf7_1_eax = eax;
  uint32_t xcr0_low = 0;
  uint32_t xcr0_high = 0;
  __asm__("xgetbv" : "=a"(xcr0_low), "=d"(xcr0_high) : "c"(0));
  words.xcr0 = (uint64_t{xcr0_high} << 32) | xcr0_low;
  return words;
}

// Linux saves tile data only for processes that asked. Source: kernel documentation,
// arch/x86/xstate.rst.
bool request_tile_permission() {
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

CpuFeatures detect() {
  CpuFeatures features = decode_cpuid(read_cpuid());
  features.amx_bf16 = features.amx_bf16 && request_tile_permission();
  return features;
}

#else

CpuFeatures detect() { return {}; }

#endif

}  // namespace

CpuFeatures decode_cpuid(const CpuidWords& words) {
  const bool avx512 = has(words.leaf7_ebx, kLeaf7EbxAvx512) && has(words.xcr0, kXcr0Avx512);
  return {
      .avx2 = has(words.leaf1_ecx, kLeaf1EcxAvx2) && has(words.leaf7_ebx, kLeaf7EbxAvx2) &&
              has(words.xcr0, kXcr0Avx),
      .avx512 = avx512,
      .avx512_bf16 = avx512 && has(words.leaf7_1_eax, kLeaf7Sub1EaxAvx512Bf16),
      .avx512_vbmi = avx512 && has(words.leaf7_ecx, kLeaf7EcxAvx512Vbmi),
      .amx_bf16 = has(words.leaf7_edx, kLeaf7EdxAmx) && has(words.xcr0, kXcr0Amx),
  };
}

const CpuFeatures& cpu_features() {
  static const CpuFeatures features = detect();
  return features;
}

std::string describe(const CpuFeatures& features) {
  std::string words;
  const auto add = [&words](bool is_present, const char* word) {
    if (!is_present) return;
    if (!words.empty()) words += ' ';
    words += word;
  };
  add(features.avx2, "avx2");
  add(features.avx512, "avx512");
  add(features.avx512_bf16, "avx512_bf16");
  add(features.avx512_vbmi, "avx512_vbmi");
  add(features.amx_bf16, "amx_bf16");
  return words.empty() ? "baseline" : words;
}

}  // namespace slip
