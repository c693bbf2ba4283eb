// The Runner of the CPU: one thread pool, weights as they lie in the mapped file, everything else
// planned at load.
#pragma once

#include <memory>

#include "backend/runner.h"
#include "io/model_file.h"

namespace slip::cpu {

// `file` outlives the runner. Throws Error{kUnsupportedModel | kCorruptFile} for the model,
// Error{kInvalidArgument} for an option out of range, Error{kInsufficientMemory} when the plan does
// not fit.
std::unique_ptr<Runner> load_runner(const ModelFile& file, const RunnerOptions& options);

}  // namespace slip::cpu
