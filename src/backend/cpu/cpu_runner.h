// The Runner of the CPU: one thread pool, weights as they lie in the mapped file, everything else
// planned at load.
#pragma once

#include <memory>

#include "backend/runner.h"
#include "io/model_file.h"
#include "model/stored_state.h"
#include "model/weights.h"

namespace slip::cpu {

// `file` outlives the runner. Throws Error{kUnsupportedModel | kCorruptFile} for the model,
// Error{kInvalidArgument} for an option out of range, Error{kInsufficientMemory} when the plan does
// not fit.
std::unique_ptr<Runner> load_runner(const ModelFile& file, const RunnerOptions& options);

// The same for a model that is in memory already. What its weights point at is in model.owned, or
// outlives the runner.
//   fingerprint  of the model, in the states that the runner saves and loads
std::unique_ptr<Runner> make_runner(LoadedModel model, uint64_t fingerprint,
                                    const RunnerOptions& options);

// Of the states that such a runner saves and loads.
StateKind stored_kind(uint64_t fingerprint, DType kv_type);

}  // namespace slip::cpu
