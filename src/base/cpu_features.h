// What this processor can do, asked once.
#pragma once

#include <cstdint>
#include <string>

namespace slip {

struct CpuFeatures {
  bool avx2 = false;    // with FMA and F16C
  bool avx512 = false;  // F, BW, VL, DQ
  bool avx512_bf16 = false;
  bool avx512_vbmi = false;
  bool amx_bf16 = false;  // tiles usable by this process, not merely present
};

// What the cpuid and xgetbv instructions answer.
// Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volumes 1 (chapters 13, 14,
// 18) and 2 (CPUID).
struct CpuidWords {
  uint32_t leaf1_ecx = 0;
  uint32_t leaf7_ebx = 0;
  uint32_t leaf7_ecx = 0;
  uint32_t leaf7_edx = 0;
  uint32_t leaf7_1_eax = 0;  // subleaf 1
  uint64_t xcr0 = 0;         // register files that the operating system saves
};

// The features that both the processor and the operating system have. Pure.
CpuFeatures decode_cpuid(const CpuidWords& words);

// The features of this machine, usable by this process (the operating system saves the registers).
// The first call asks the kernel for permission to use AMX tiles, on behalf of all threads of the
// process.
const CpuFeatures& cpu_features();

// For a log line: "avx2 avx512", or "baseline" where there are none.
std::string describe(const CpuFeatures& features);

}  // namespace slip
