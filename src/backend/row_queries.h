// The logit rows of a batch as the questions that sample/accept answers. Every runner asks the
// same.
#pragma once

#include <span>
#include <vector>

#include "backend/batch.h"
#include "sample/accept.h"

namespace slip {

// One query for each logit row, over segments in order.
//   requests  one for each segment, or none at all: greedy, every draft certain
//   queries   overwritten; keeps its capacity. They point into `batch` and `requests`.
void make_row_queries(const Batch& batch, std::span<const AcceptRequest> requests,
                      std::vector<RowQuery>& queries);

}  // namespace slip
