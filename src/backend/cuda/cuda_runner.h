// The Runner of one NVIDIA GPU.
#pragma once

#include <memory>

#include "backend/runner.h"
#include "io/model_file.h"

namespace slip::cuda {

// Weights are copied to the device. Throws Error{kDevice} where there is no such GPU,
// Error{kUnsupportedModel | kCorruptFile} for the model, Error{kInvalidArgument} for an option out
// of range, Error{kInsufficientMemory} when the plan does not fit.
std::unique_ptr<Runner> load_runner(const ModelFile& file, const RunnerOptions& options);

}  // namespace slip::cuda
