// Decides which rows run in a step. Pure: sequences, their drafts and the limits in, a batch out.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/batch.h"
#include "backend/runner.h"

namespace slip {

struct BatchLimits {
  int32_t batch_rows_max = 0;
  int32_t logit_rows_max = 0;
  int32_t prompt_rows_max = 0;  // rows of all sequences that have more than one known token
  int32_t context_tokens_max = 0;
  int32_t n_splits = 0;
};

// What one sequence could run.
struct SequenceRows {
  StateId state{};
  int32_t position = 0;            // of the first known token
  std::span<const TokenId> known;  // decided, not yet run; at least one
  std::span<const TokenId> draft;  // proposed behind them; may be empty
  int32_t n_remaining = 0;         // tokens that the sequence may still produce, at least 1
};

// What one sequence got.
struct RowShare {
  int32_t n_certain = 0;  // leading known tokens; 0: it sits this step out
  int32_t n_drafts = 0;   // leading draft tokens
};

struct BatchPlan {
  Batch batch;  // one segment for every share with rows, in the order of the sequences
  std::vector<RowShare> shares;  // [n_sequences]
};

// The longest draft worth verifying behind `n_certain` rows from `position` on: it crosses no
// change of split length, stays in the context, and leaves one of the remaining tokens to the row
// behind the last draft.
int32_t draft_tokens_max(int32_t position, int32_t n_certain, int32_t n_remaining,
                         const BatchLimits& limits);

// Every sequence with one known token gets its row, then drafts go to them in order; prompts, in
// order, share the rows left, up to prompt_rows_max. The first prompt always gets a row, however
// long the drafts are, so reading never stalls. `plan` is overwritten and keeps its capacity.
//   sequences  at most batch_rows_max and at most logit_rows_max
void build_batch(std::span<const SequenceRows> sequences, const BatchLimits& limits,
                 BatchPlan& plan);

}  // namespace slip
