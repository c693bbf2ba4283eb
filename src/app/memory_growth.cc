#include "app/memory_growth.h"

#include <algorithm>

namespace slip {

int64_t growth(std::span<const MemorySample> samples, int64_t MemorySample::*member) {
  int64_t most = 0;
  for (const MemorySample& sample : samples) {
    const auto first = std::ranges::find(samples, sample.n_rows, &MemorySample::n_rows);
    most = std::max(most, sample.*member - (*first).*member);
  }
  return most;
}

MemoryVerdict judge(std::span<const MemorySample> samples, const MemoryLimits& limits) {
  if (growth(samples, &MemorySample::transient_bytes) > limits.tolerance_bytes)
    return MemoryVerdict::kGrows;
  // Half, since pages that an earlier copy left behind are not taken again.
  if (growth(samples, &MemorySample::knock_out_bytes) < limits.cache_growth_bytes / 2)
    return MemoryVerdict::kBlind;
  return MemoryVerdict::kSteady;
}

}  // namespace slip
