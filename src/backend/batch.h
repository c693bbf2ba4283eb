// One step of the engine as data. Reading a prompt is a chain of certain tokens, plain decoding a
// draft of length 0, speculation a draft of length k: one shape for all three.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"

namespace slip {

inline constexpr int kDraftTokensMax = 31;  // a verify segment has at most 32 rows
inline constexpr int kSegmentRowsMax = kDraftTokensMax + 1;

// The rows of one sequence in one step. Row i runs the token at position `position + i`.
struct Segment {
  StateId state{};
  int32_t position = 0;   // of the first row; equals the state's committed tokens
  int32_t n_rows = 0;     // >= 1
  int32_t n_certain = 0;  // [1, n_rows]: leading rows whose tokens are final; the others are drafts
  bool wants_next = true;  // false: part of a prompt with more to follow. Drafts need true.

  int32_t n_drafts() const { return n_rows - n_certain; }
  // Rows that produce logits: from the last certain one on, or none.
  int32_t n_logit_rows() const { return wants_next ? n_drafts() + 1 : 0; }
};

struct Batch {
  std::vector<TokenId> tokens;    // [n_rows], segment after segment
  std::vector<Segment> segments;  // each state at most once

  int32_t n_rows() const { return static_cast<int32_t>(tokens.size()); }
  int32_t n_logit_rows() const;
};

struct RunnerInfo;

// Aborts where a batch breaks its own rules or the runner's limits: an engine that builds one is
// wrong.
void check_batch(const Batch& batch, const RunnerInfo& info);

}  // namespace slip
