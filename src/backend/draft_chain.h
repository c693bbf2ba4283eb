// One request's run of a draft head: which token comes next, and when the run ends. Every runner
// decides the same.
#pragma once

#include <cstdint>
#include <span>

#include "backend/runner.h"
#include "sample/accept.h"

namespace slip {

struct DraftChain {
  int32_t n_drafted = 0;  // tokens of request.out that are filled
  double reach = 1;       // chance that all of them are the head's own likeliest continuation
  bool is_over = false;
};

// Draws the chain's next token into request.out. Its own confidence counts before the chain may
// end behind it: a draft that was left out for what it would have said would bend the law.
//   n_committed  of the request's state
//   logits       [vocab_size] of the draft head
void extend(DraftChain& chain, const DraftRequest& request, int32_t n_committed,
            std::span<const float> logits, RowSampler& sampler);

}  // namespace slip
