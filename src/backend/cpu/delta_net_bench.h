// The delta net of one layer in the shape of a real model, on synthetic data, for measuring.
#pragma once

#include <cstdint>

#include "backend/cpu/kernel_bench.h"

namespace slip::cpu {

struct DeltaNetBenchOptions {
  int32_t n_key_heads = 0, n_value_heads = 0, key_dim = 0, value_dim = 0;
  int32_t conv_kernel = 4;
  int32_t n_folded = 0;  // [0, kDraftTokensMax]: accepted rows that wait for the run
};

// Fold, convolution, recurrence and gated norm of one layer; of the rows the first is certain, the
// others are drafts. Throws Error{kUnsupportedModel} for sizes that the kernels cannot divide,
// Error{kInvalidArgument} for kernels that are not there, Error{kInsufficientMemory}.
KernelBench delta_net_bench(const BenchDevice& device, const DeltaNetBenchOptions& options);

}  // namespace slip::cpu
