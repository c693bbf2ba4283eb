// The draft head's side of a step: keeps hidden states of the target, turns them into cache entries
// when the head is asked or no more fit, and runs the head ahead. A step that does not ask the head
// thus pays a copy of its rows. Indexing as in the model specification, section 5.3: entry i
// consumes token i + 1 and the target's hidden state i.
#pragma once

#include <span>
#include <vector>

#include "backend/batch.h"
#include "backend/cpu/ops_storage.h"
#include "backend/cpu/state_table.h"
#include "backend/draft_chain.h"
#include "backend/runner.h"
#include "model/transformer.h"
#include "tensor/buffer.h"

namespace slip::cpu {

class DraftHistory {
 public:
  // `transformer` and `ops` outlive this object.
  DraftHistory(const ModelConfig& config, Transformer& transformer, OpsStorage& ops,
               int32_t states_max, int32_t batch_rows_max);

  // After a forward, before its counters move: keeps the hidden rows of verify segments. Where they
  // do not fit, and where a prompt is read, first appends the entries whose tokens are certain.
  void extend(const Batch& batch, StateTable& states);

  // Appends every entry that the state's own tokens decide: all below n_committed - 1.
  void settle(StateId id, StateTable& states);

  // settle() for every request, and the target's hidden states in place for the first step.
  void begin_draft(std::span<const DraftRequest> requests, StateTable& states);

  // The next token of every chain that is not over; logits in Act::kLogits.
  //   chains  [requests], all live ones of the same length
  //   rows    [requests] in: of the step before; out: row of each request, -1 where it is over
  void step_draft(std::span<const DraftRequest> requests, std::span<const DraftChain> chains,
                  StateTable& states, std::vector<int32_t>& rows);

  int64_t workspace_bytes() const { return static_cast<int64_t>(staged_.n_bytes()); }

 private:
  void stage(const SequenceState& state, int32_t entry, const float* hidden);
  void stage_kept(SequenceState& state, int32_t entry_end);
  void stage_all_certain(const Segment& segment, int32_t row, SequenceState& state);
  void keep_rows(const Segment& segment, int32_t row, SequenceState& state);
  void close_segments(StateId id, SequenceState& state, int32_t entry_end);
  void clear_staged();
  void append_staged();

  float* normed(int32_t row);

  int32_t hidden_size_;
  int32_t rows_max_;
  Transformer& transformer_;
  OpsStorage& ops_;

  // Entries waiting for their pass.
  FloatBuffer staged_;           // [batch_rows_max + kHiddenRows states_max, hidden_size]
  std::vector<TokenId> tokens_;  // of staged entries, or of the rows of a draft step
  std::vector<PassSegment> segments_;
};

}  // namespace slip::cpu
