#include "engine/batch_builder.h"

#include <algorithm>

#include "backend/split_rule.h"
#include "base/check.h"

namespace slip {
namespace {

// What the step still has to give.
struct Budget {
  int32_t n_rows = 0;
  int32_t n_logit_rows = 0;
  int32_t n_prompt_rows = 0;
};

bool is_prompt(const SequenceRows& s) { return s.known.size() > 1; }

// A draft token takes a row and a logit row; the logit row of the last certain token is already
// paid.
int32_t take_drafts(const SequenceRows& s, int32_t n_certain, const BatchLimits& limits,
                    Budget& budget) {
  const int32_t n = std::min({static_cast<int32_t>(s.draft.size()),
                              draft_tokens_max(s.position, n_certain, s.n_remaining, limits),
                              budget.n_rows, budget.n_logit_rows});
  budget.n_rows -= n;
  budget.n_logit_rows -= n;
  return n;
}

RowShare take_prompt_rows(const SequenceRows& s, const BatchLimits& limits, Budget& budget) {
  const auto n_known = static_cast<int32_t>(s.known.size());
  RowShare share;
  share.n_certain = std::min({n_known, rows_until_split_change(s.position, limits.n_splits),
                              budget.n_prompt_rows, budget.n_rows});
  // The last known token needs logits; without a row for them it waits for the next step.
  if (share.n_certain == n_known && budget.n_logit_rows == 0) --share.n_certain;
  budget.n_rows -= share.n_certain;
  budget.n_prompt_rows -= share.n_certain;
  if (share.n_certain < n_known) return share;
  --budget.n_logit_rows;
  share.n_drafts = take_drafts(s, share.n_certain, limits, budget);
  return share;
}

void share_rows(std::span<const SequenceRows> sequences, const BatchLimits& limits,
                std::span<RowShare> shares) {
  const auto n_prompts = static_cast<int32_t>(std::ranges::count_if(sequences, is_prompt));
  const int32_t n_decoding = static_cast<int32_t>(sequences.size()) - n_prompts;
  const int32_t kept_back =
      n_prompts > 0 ? 1 : 0;  // a row of the first prompt, out of reach for drafts
  Budget budget{.n_rows = limits.batch_rows_max - n_decoding - kept_back,
                .n_logit_rows = limits.logit_rows_max - n_decoding - kept_back,
                .n_prompt_rows = limits.prompt_rows_max};
  for (size_t i = 0; i < sequences.size(); ++i) {
    if (is_prompt(sequences[i])) continue;
    shares[i] = {.n_certain = 1, .n_drafts = take_drafts(sequences[i], 1, limits, budget)};
  }
  budget.n_rows += kept_back;
  budget.n_logit_rows += kept_back;
  for (size_t i = 0; i < sequences.size(); ++i) {
    if (is_prompt(sequences[i])) shares[i] = take_prompt_rows(sequences[i], limits, budget);
  }
}

void add_segment(const SequenceRows& s, const RowShare& share, Batch& batch) {
  const auto certain = s.known.first(static_cast<size_t>(share.n_certain));
  const auto drafts = s.draft.first(static_cast<size_t>(share.n_drafts));
  batch.tokens.insert(batch.tokens.end(), certain.begin(), certain.end());
  batch.tokens.insert(batch.tokens.end(), drafts.begin(), drafts.end());
  batch.segments.push_back({.state = s.state,
                            .position = s.position,
                            .n_rows = share.n_certain + share.n_drafts,
                            .n_certain = share.n_certain,
                            .wants_next = certain.size() == s.known.size()});
}

}  // namespace

int32_t draft_tokens_max(int32_t position, int32_t n_certain, int32_t n_remaining,
                         const BatchLimits& limits) {
  const int32_t n_in_split = rows_until_split_change(position, limits.n_splits) - n_certain;
  const int32_t n_in_context = limits.context_tokens_max - position - n_certain;
  return std::max(0, std::min({kDraftTokensMax, n_in_split, n_in_context, n_remaining - 1}));
}

void build_batch(std::span<const SequenceRows> sequences, const BatchLimits& limits,
                 BatchPlan& plan) {
  SLIP_CHECK(sequences.size() <=
             static_cast<size_t>(std::min(limits.batch_rows_max, limits.logit_rows_max)));
  plan.batch.tokens.clear();
  plan.batch.segments.clear();
  plan.shares.assign(sequences.size(), RowShare{});
  share_rows(sequences, limits, plan.shares);
  for (size_t i = 0; i < sequences.size(); ++i) {
    if (plan.shares[i].n_certain > 0) add_segment(sequences[i], plan.shares[i], plan.batch);
  }
}

}  // namespace slip
