#include "base/cpu_features.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <vector>

#include <gtest/gtest.h>

namespace slip {
namespace {

// Bit positions from the manual's tables.
constexpr uint32_t kFma = 1u << 12;
constexpr uint32_t kAvx = 1u << 28;
constexpr uint32_t kF16c = 1u << 29;
constexpr uint32_t kAvx2 = 1u << 5;
constexpr uint32_t kAvx512 = (1u << 16) | (1u << 17) | (1u << 30) | (1u << 31);
constexpr uint32_t kAvx512Bf16 = 1u << 5;
constexpr uint32_t kAvx512Vbmi = 1u << 1;
constexpr uint32_t kAmx = (1u << 22) | (1u << 24);

constexpr CpuidWords kEverything = {.leaf1_ecx = kFma | kAvx | kF16c,
                                    .leaf7_ebx = kAvx2 | kAvx512,
                                    .leaf7_ecx = kAvx512Vbmi,
                                    .leaf7_edx = kAmx,
                                    .leaf7_1_eax = kAvx512Bf16,
                                    .xcr0 = 0x600E7};

TEST(CpuFeatures, FindsEverythingWhereProcessorAndSystemHaveIt) {
  EXPECT_EQ(describe(decode_cpuid(kEverything)), "avx2 avx512 avx512_bf16 avx512_vbmi amx_bf16");
}

TEST(CpuFeatures, Avx2NeedsFmaAndF16c) {
  for (const uint32_t missing : {kFma, kF16c}) {
    CpuidWords words = kEverything;
    words.leaf1_ecx &= ~missing;
    EXPECT_FALSE(decode_cpuid(words).avx2) << missing;
  }
}

TEST(CpuFeatures, Avx512NeedsEachOfItsFourParts) {
  for (const int bit : {16, 17, 30, 31}) {
    CpuidWords words = kEverything;
    words.leaf7_ebx &= ~(1u << bit);
    EXPECT_FALSE(decode_cpuid(words).avx512) << bit;
  }
}

struct SavedRegisters {
  uint64_t xcr0;
  const char* usable;
};

TEST(CpuFeatures, UsesOnlyRegistersThatTheSystemSaves) {
  constexpr SavedRegisters kCases[] = {
      {0x00003, "baseline"},                             // x87 and sse
      {0x00007, "avx2"},                                 // and ymm
      {0x00067, "avx2"},                                 // zmm without the upper sixteen
      {0x000E7, "avx2 avx512 avx512_bf16 avx512_vbmi"},  // and all of zmm
      {0x200E7, "avx2 avx512 avx512_bf16 avx512_vbmi"},  // tile configuration without tile data
      {0x600E7, "avx2 avx512 avx512_bf16 avx512_vbmi amx_bf16"},
  };
  for (const SavedRegisters& saved : kCases) {
    CpuidWords words = kEverything;
    words.xcr0 = saved.xcr0;
    EXPECT_EQ(describe(decode_cpuid(words)), saved.usable) << std::hex << saved.xcr0;
  }
}

// The kernel's own list: it leaves out what it does not save.
std::vector<std::string> kernel_flags() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("flags")) continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    return {std::istream_iterator<std::string>(words), {}};
  }
  return {};
}

TEST(CpuFeatures, AgreeWithTheKernelAboutThisMachine) {
  const auto flags = kernel_flags();
  if (flags.empty()) GTEST_SKIP() << "no flags in /proc/cpuinfo";
  const auto has_all = [&flags](std::initializer_list<const char*> wanted) {
    return std::ranges::all_of(
        wanted, [&](const char* flag) { return std::ranges::find(flags, flag) != flags.end(); });
  };
  EXPECT_EQ(cpu_features().avx2, has_all({"avx2", "fma", "f16c"}));
  EXPECT_EQ(cpu_features().avx512, has_all({"avx512f", "avx512bw", "avx512vl", "avx512dq"}));
  EXPECT_EQ(cpu_features().avx512_bf16,
            has_all({"avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512_bf16"}));
  EXPECT_EQ(cpu_features().avx512_vbmi,
            has_all({"avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512vbmi"}));
  EXPECT_LE(cpu_features().amx_bf16, has_all({"amx_tile", "amx_bf16"}));
}

}  // namespace
}  // namespace slip
