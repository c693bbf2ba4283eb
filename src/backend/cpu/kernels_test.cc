// The choice of a kernel table, and the accuracy of the exponential that all of them share.
#include "backend/cpu/ops_fixture.h"
#include "base/error.h"

namespace slip::cpu {
namespace {

constexpr CpuFeatures kEverything = {
    .avx2 = true, .avx512 = true, .avx512_bf16 = true, .avx512_vbmi = true, .amx_bf16 = true};

TEST(ChooseKernels, TakesTheBestTableThatTheMachineSupports) {
  EXPECT_EQ(choose({}, "").name, "baseline");
#if defined(__x86_64__)
  EXPECT_EQ(choose({.avx2 = true}, "").name, "avx2");
  EXPECT_EQ(choose({.avx2 = true, .avx512 = true}, "").name, "avx512");
  EXPECT_EQ(choose(kEverything, "").name, "amx");
#endif
}

#if defined(__x86_64__)
// What a processor may have without letting this process use it.
TEST(ChooseKernels, FallsBackWhereSomethingThatATableNeedsIsRefused) {
  CpuFeatures features = kEverything;
  features.amx_bf16 = false;
  EXPECT_EQ(choose(features, "").name, "avx512");
  features = kEverything;
  features.avx512_vbmi = false;
  EXPECT_EQ(choose(features, "").name, "avx512");
  features = kEverything;
  features.avx512_bf16 = false;
  EXPECT_EQ(choose(features, "").name, "avx512");
  features.avx512 = false;
  EXPECT_EQ(choose(features, "").name, "avx2");
  features.avx2 = false;
  EXPECT_EQ(choose(features, "").name, "baseline");
}
#endif

TEST(KernelTables, AttendOnEveryTypeOfCacheAndEveryMultipleOf16) {
  for (const KernelTable* table : kernel_tables()) {
    for (const DType type : {DType::kF32, DType::kF16, DType::kBF16}) {
      for (int32_t head_dim = 16; head_dim <= 256; head_dim += 16)
        EXPECT_TRUE(table->attention_for(type, head_dim).can(type, head_dim)) << table->name;
    }
  }
}

TEST(ChooseKernels, ObeysAForcedName) {
  EXPECT_EQ(choose({.avx2 = true}, "baseline").name, "baseline");
}

std::string refusal(const CpuFeatures& features, std::string_view name) {
  try {
    choose(features, name);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    return error.what();
  }
  return "";
}

TEST(ChooseKernels, NamesWhatIsUsableWhenTheForcedTableIsUnknown) {
  EXPECT_EQ(refusal({}, "mmx"), "kernels: found \"mmx\", wanted one of baseline, reference");
}

TEST(ChooseKernels, RefusesATableThatTheMachineLacks) {
  EXPECT_EQ(refusal({}, "avx2"), "kernels: found \"avx2\", wanted one of baseline, reference");
}

// e^-x within 2 ulp, a sum, a quotient: 4 ulp of relative error. Below the smallest normal number
// there is only absolute error.
TEST(Silu, IsAccurateOverTheWholeRangeOfFloats) {
  constexpr double kRelative = 4 * 0x1p-23, kAbsolute = 1e-36;
  for (const KernelTable* table : usable_tables()) {
    for (int32_t i = -12000; i <= 12000; ++i) {
      const float x = static_cast<float>(i) * 0.01f;
      const float one = 1.0f;
      float found = kNan;
      table->silu_mul(&x, &one, &found, 1);
      const double exact = static_cast<double>(x) / (1.0 + std::exp(-static_cast<double>(x)));
      ASSERT_NEAR(found, exact, kRelative * std::abs(exact) + kAbsolute)
          << table->name << " at " << x;
    }
  }
}

TEST(Silu, GivesTheSameBitsInEveryLaneAndInTheTail) {
  for (const KernelTable* table : usable_tables()) {
    const std::vector<float> gate(13, 0.7f), up(13, 1.3f);
    std::vector<float> out(13, kNan);
    table->silu_mul(gate.data(), up.data(), out.data(), 13);
    for (const float y : out) EXPECT_TRUE(same_bits({&y, 1}, {out.data(), 1})) << table->name;
  }
}

TEST(Silu, KeepsNan) {
  for (const KernelTable* table : usable_tables()) {
    const float one = 1.0f;
    float out = 0;
    table->silu_mul(&kNan, &one, &out, 1);
    EXPECT_TRUE(std::isnan(out)) << table->name;
  }
}

}  // namespace
}  // namespace slip::cpu
