// The draft head's side of a step: keeps hidden states of the target, turns them into cache entries
// when the head is asked or no more fit, and runs the head ahead. A step that does not ask the head
// thus pays a copy of its rows. Indexing as in the model specification, section 5.3: entry i
// consumes token i + 1 and the target's hidden state i.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "backend/batch.h"
#include "backend/draft_chain.h"
#include "backend/runner.h"
#include "backend/sequence_progress.h"
#include "model/transformer.h"

namespace slip {

// Rows that the draft head's history may lag behind. More would save it nothing: its weights are
// read once for all rows that are made up for.
inline constexpr int32_t kHiddenRows = 128;
static_assert(kHiddenRows >= kSegmentRowsMax);

// Of Act::kHidden: kHiddenRows of each state, from position hidden_begin on; then rows that wait
// for their pass. 0 for a model without a head.
int32_t hidden_rows_max(const ModelConfig& config, int32_t states_max, int32_t batch_rows_max);

class DraftHistory {
 public:
  using ProgressOf = std::function<SequenceProgress&(StateId)>;

  // `transformer` and `ops` outlive this object; kHidden has hidden_rows_max() rows.
  DraftHistory(const ModelConfig& config, Transformer& transformer, Ops& ops,
               ProgressOf progress_of, int32_t states_max, int32_t batch_rows_max);

  // After a forward, before its counters move: keeps the hidden rows of verify segments. Where they
  // do not fit, and where a prompt is read, first appends the entries whose tokens are certain.
  void extend(const Batch& batch);

  // Appends every entry that the state's own tokens decide: all below n_committed - 1.
  void settle(StateId id);

  // Gives `child` the hidden rows of `parent`, which it follows.
  void fork(StateId parent, StateId child);

  // Row of kHidden with the hidden state of the last committed token.
  int32_t last_hidden_row(StateId id) const;

  // settle() for every request, and the target's hidden states in place for the first step.
  void begin_draft(std::span<const DraftRequest> requests);

  // The next token of every chain that is not over; logits in Act::kLogits.
  //   chains  [requests], all live ones of the same length
  //   rows    [requests] in: of the step before; out: row of each request, -1 where it is over
  void step_draft(std::span<const DraftRequest> requests, std::span<const DraftChain> chains,
                  std::vector<int32_t>& rows);

 private:
  void stage_kept(StateId id, int32_t entry_end);
  void stage_all_certain(const Segment& segment, int32_t row);
  void keep_rows(const Segment& segment, int32_t row);
  void close_segments(StateId id, int32_t entry_end);
  void clear_staged();
  void copy_staged();
  void append_staged();

  // Rows of kHidden: one of a state, and the next that is staged.
  int32_t kept_row(StateId id, int32_t position) const;
  int32_t next_staged_row() const;
  void stage(std::vector<RowCopy>& copies, StateId id, int32_t entry, int32_t from_row);

  int32_t rows_max_;
  int32_t first_staged_row_;
  Transformer& transformer_;
  Ops& ops_;
  ProgressOf progress_of_;

  // Entries waiting for their pass, and where their hidden states come from. Rows that states have
  // kept are copied first: the rows of a forward may take their place.
  std::vector<TokenId> tokens_;  // of staged entries, or of the rows of a draft step
  std::vector<PassSegment> segments_;
  std::vector<RowCopy> from_hidden_, from_normed_;
};

}  // namespace slip
