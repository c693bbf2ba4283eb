// Whether an attention kernel computes what the plain one does, in the shapes of a model.
#pragma once

#include <string>

#include "backend/cpu/kernels/table.h"
#include "model/config.h"

namespace slip::cpu {

class Lane;

// Random keys, values and queries through both, with caches that end in tokens that no row may see.
// Empty where they agree, otherwise one clause that says where they do not.
//   kernel, plain  can the same type and config.head_dim
//   lane           that `kernel` runs on
std::string attention_fault(const AttentionKernel& kernel, const AttentionKernel& plain,
                            const AttentionConfig& config, const Lane& lane);

}  // namespace slip::cpu
