// What a model's matrices are stored as, by format.
#pragma once

#include <cstdint>
#include <vector>

#include "model/weights.h"
#include "tensor/quant.h"

namespace slip {

struct FormatSum {
  WeightFormat format = WeightFormat::kF32;
  int64_t n_matrices = 0;
  int64_t n_bytes = 0;  // scales and biases included
};

// Only formats that occur, in the order of WeightFormat. A matrix used in two places counts once.
std::vector<FormatSum> sum_trunk(const ModelWeights& weights);       // with embedding and head
std::vector<FormatSum> sum_draft_head(const ModelWeights& weights);  // what it has of its own

}  // namespace slip
