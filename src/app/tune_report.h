// What a cost surface implies: how many drafts must survive to pay for themselves, and how deep a
// draft head should draft.
#pragma once

#include <cstdint>

#include "draft/cost_surface.h"

namespace slip {

// Share of the drafts of a step of `n_rows` (2 to 32) that must be accepted for it to be worth its
// time, behind `context_tokens` of context. Above 1: it never is. Formula: (cycle / plain step - 1)
// / drafts.
//   from_head  the drafts come from the draft head and are paid for, too
double break_even_share(const CostSurface& surface, int32_t n_rows, double context_tokens,
                        bool from_head);

struct FixedDepth {
  int32_t n_tokens = 0;  // 0: better none
  double speedup = 1;    // over plain decoding
};

// The best fixed depth of the draft head where each token survives with chance `acceptance` if
// those before it did.
FixedDepth best_fixed_depth(const CostSurface& surface, double acceptance, double context_tokens);

}  // namespace slip
