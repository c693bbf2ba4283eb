// A whole model of random numbers in memory: as good as a real one where only the time and the
// memory of a step are measured.
#pragma once

#include <cstdint>

#include "model/weights.h"

namespace slip {

// What each format stands for follows published checkpoints of it:
//   kAffine4, kAffine8  everything quantised; the router and the shared expert's gate in 8 bits
//   kFp8Block           projections and experts; embedding, head, router and gates in BF16
//   kBF16               everything
struct SyntheticModelOptions {
  ModelConfig config;  // without a draft head
  WeightFormat format = WeightFormat::kBF16;
};

// Bytes of its matrices, without making them. Throws Error{kUnsupportedModel} as weight_shape()
// does.
int64_t synthetic_bytes(const SyntheticModelOptions& options);

// Activations keep a size of about one through all layers. Throws as above.
LoadedModel make_synthetic_model(const SyntheticModelOptions& options);

}  // namespace slip
