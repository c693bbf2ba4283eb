// Memory of verify steps by context, as numbers: whether what they take grows with it.
#pragma once

#include <cstdint>
#include <span>

namespace slip {

struct MemorySample {
  int32_t context_tokens, n_rows;
  int64_t resident_bytes;   // before the steps
  int64_t transient_bytes;  // taken and given back, the most of several steps
  int64_t knock_out_bytes;  // likewise, with a copy of the cache before every step
};

// The most that a member rises from the sample of the shortest context to one of a longer context,
// of the same rows. 0 where it only falls.
//   samples  by context, ascending
int64_t growth(std::span<const MemorySample> samples, int64_t MemorySample::*member);

enum class MemoryVerdict : uint8_t {
  kSteady,
  kGrows,  // steps take more the longer the context
  kBlind,  // the measurement would not see that: it did not see the copies
};

struct MemoryLimits {
  int64_t tolerance_bytes;     // that measured memory may be off
  int64_t cache_growth_bytes;  // what a copy of the cache grows by over the contexts
};

MemoryVerdict judge(std::span<const MemorySample> samples, const MemoryLimits& limits);

}  // namespace slip
