// A whole step in the shape of a real model, on random weights and a random state, through the
// Runner that the engine uses.
#pragma once

#include <cstdint>

#include "backend/cpu/kernel_bench.h"
#include "model/synthetic_model.h"

namespace slip::cpu {

struct StepBenchOptions {
  SyntheticModelOptions model;
  int32_t context_tokens = 0;  // that the state covers before the rows
  DType kv_type = DType::kBF16;
};

// Tokens behind the context that steps need: the model's own limit holds them, too.
inline constexpr int32_t kStepBenchRoomTokens = 96;

// Bytes that step_bench() will hold at its largest moment, at most.
int64_t step_bench_bytes(const StepBenchOptions& options);

// Forward and accept of one verify segment: a certain token and drafts, all of which are taken
// back. Throws Error{kInvalidArgument} for a context that the model does not have or kernels that
// are not there, Error{kUnsupportedModel}, Error{kInsufficientMemory}.
KernelBench step_bench(const BenchDevice& device, const StepBenchOptions& options);

}  // namespace slip::cpu
