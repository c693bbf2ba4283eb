#include "model/draft_history.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace slip {

int32_t hidden_rows_max(const ModelConfig& config, int32_t states_max, int32_t batch_rows_max) {
  return config.has_draft_head ? 2 * kHiddenRows * states_max + batch_rows_max : 0;
}

DraftHistory::DraftHistory(const ModelConfig& config, Transformer& transformer, Ops& ops,
                           ProgressOf progress_of, int32_t states_max, int32_t batch_rows_max)
    : rows_max_(batch_rows_max),
      first_staged_row_(kHiddenRows * states_max),
      transformer_(transformer),
      ops_(ops),
      progress_of_(std::move(progress_of)) {
  if (!config.has_draft_head) return;
  const auto n = static_cast<size_t>(hidden_rows_max(config, states_max, batch_rows_max));
  tokens_.reserve(n);
  segments_.reserve(n / kSegmentRowsMax + static_cast<size_t>(states_max));
  from_hidden_.reserve(n);
  from_normed_.reserve(n);
}

int32_t DraftHistory::kept_row(StateId id, int32_t position) const {
  const int32_t row = position - progress_of_(id).hidden_begin;
  SLIP_CHECK(row >= 0 && row < kHiddenRows);
  return static_cast<int32_t>(index(id)) * kHiddenRows + row;
}

int32_t DraftHistory::last_hidden_row(StateId id) const {
  return kept_row(id, progress_of_(id).n_committed - 1);
}

int32_t DraftHistory::next_staged_row() const {
  return first_staged_row_ + static_cast<int32_t>(tokens_.size());
}

// Puts one entry behind the others. Entries of a sequence come in order.
void DraftHistory::stage(std::vector<RowCopy>& copies, StateId id, int32_t entry,
                         int32_t from_row) {
  copies.push_back({from_row, next_staged_row()});
  tokens_.push_back(progress_of_(id).ids[static_cast<size_t>(entry) + 1]);
}

// Stages entries [n_draft_entries, entry_end), whose hidden states the state has kept.
void DraftHistory::stage_kept(StateId id, int32_t entry_end) {
  const SequenceProgress& state = progress_of_(id);
  SLIP_CHECK(entry_end <= state.n_draft_entries || state.n_draft_entries >= state.hidden_begin);
  for (int32_t entry = state.n_draft_entries; entry < entry_end; ++entry)
    stage(from_hidden_, id, entry, kept_row(id, entry));
}

// The entries staged for this state, up to `entry_end`, become segments that fit a pass.
void DraftHistory::close_segments(StateId id, int32_t entry_end) {
  SequenceProgress& state = progress_of_(id);
  while (state.n_draft_entries < entry_end) {
    const int32_t n_rows = std::min(rows_max_, entry_end - state.n_draft_entries);
    segments_.push_back(
        {.state = id, .position = state.n_draft_entries, .n_rows = n_rows, .n_certain = n_rows});
    state.n_draft_entries += n_rows;
  }
}

void DraftHistory::clear_staged() {
  tokens_.clear();
  segments_.clear();
  from_hidden_.clear();
  from_normed_.clear();
}

void DraftHistory::copy_staged() {
  ops_.copy_rows(Act::kHidden, Act::kHidden, from_hidden_);
  ops_.copy_rows(Act::kNormed, Act::kHidden, from_normed_);
}

void DraftHistory::extend(const Batch& batch) {
  clear_staged();
  int32_t row = 0;
  for (const Segment& s : batch.segments) {
    const SequenceProgress& state = progress_of_(s.state);
    if (state.options.keeps_draft_history) {
      const bool fits = s.position + s.n_rows - state.hidden_begin <= kHiddenRows;
      if (s.n_certain > 1 || !fits) stage_all_certain(s, row);
      keep_rows(s, row);
    }
    row += s.n_rows;
  }
  copy_staged();
  append_staged();
}

// Each certain row but the last knows the token that follows it.
void DraftHistory::stage_all_certain(const Segment& s, int32_t row) {
  SequenceProgress& state = progress_of_(s.state);
  stage_kept(s.state, s.position);
  for (int32_t i = 0; i + 1 < s.n_certain; ++i)
    stage(from_normed_, s.state, s.position + i, row + i);
  state.hidden_begin = s.position + s.n_certain - 1;
  close_segments(s.state, state.hidden_begin);
}

// Those that are not staged: from the last certain row on where there are several.
void DraftHistory::keep_rows(const Segment& s, int32_t row) {
  for (int32_t i = s.n_certain - 1; i < s.n_rows; ++i)
    from_normed_.push_back({row + i, kept_row(s.state, s.position + i)});
}

void DraftHistory::settle(StateId id) {
  const SequenceProgress& state = progress_of_(id);
  if (!state.options.keeps_draft_history) return;
  clear_staged();
  stage_kept(id, state.n_committed - 1);
  close_segments(id, state.n_committed - 1);
  copy_staged();
  append_staged();
}

void DraftHistory::fork(StateId parent, StateId child) {
  const SequenceProgress& state = progress_of_(parent);
  if (!state.options.keeps_draft_history) return;
  clear_staged();
  for (int32_t at = state.hidden_begin; at < state.n_committed; ++at)
    from_hidden_.push_back({kept_row(parent, at), kept_row(child, at)});
  copy_staged();
}

// Passes over all staged entries: as many segments at a time as the ops have rows for.
void DraftHistory::append_staged() {
  size_t row = 0;
  for (size_t begin = 0; begin < segments_.size();) {
    size_t end = begin;
    size_t n_rows = 0;
    while (end < segments_.size() &&
           n_rows + static_cast<size_t>(segments_[end].n_rows) <= static_cast<size_t>(rows_max_)) {
      n_rows += static_cast<size_t>(segments_[end++].n_rows);
    }
    SLIP_CHECK(end > begin);
    from_hidden_.clear();
    for (int32_t i = 0; i < static_cast<int32_t>(n_rows); ++i)
      from_hidden_.push_back({first_staged_row_ + static_cast<int32_t>(row) + i, i});
    ops_.copy_rows(Act::kHidden, Act::kNormed, from_hidden_);
    transformer_.append_draft_history(
        {.tokens = std::span<const TokenId>(tokens_).subspan(row, n_rows),
         .segments = std::span<const PassSegment>(segments_).subspan(begin, end - begin)});
    row += n_rows;
    begin = end;
  }
}

void DraftHistory::begin_draft(std::span<const DraftRequest> requests) {
  clear_staged();
  for (const DraftRequest& request : requests) {
    const int32_t entry_end = progress_of_(request.state).n_committed - 1;
    stage_kept(request.state, entry_end);
    close_segments(request.state, entry_end);
  }
  copy_staged();
  append_staged();
  from_hidden_.clear();
  for (size_t i = 0; i < requests.size(); ++i)
    from_hidden_.push_back({last_hidden_row(requests[i].state), static_cast<int32_t>(i)});
  ops_.copy_rows(Act::kHidden, Act::kNormed, from_hidden_);
}

void DraftHistory::step_draft(std::span<const DraftRequest> requests,
                              std::span<const DraftChain> chains, std::vector<int32_t>& rows) {
  clear_staged();
  rows.resize(requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    const DraftRequest& request = requests[i];
    SequenceProgress& state = progress_of_(request.state);
    const auto step = static_cast<size_t>(chains[i].n_drafted);
    const int32_t from = step == 0 ? static_cast<int32_t>(i) : rows[i];
    rows[i] = -1;
    if (chains[i].is_over) continue;
    rows[i] = static_cast<int32_t>(tokens_.size());
    // The head recycles its own hidden state; rows close up where a request has stopped, by way of
    // kHidden, since one's place may be another's source.
    if (from != rows[i]) {
      from_normed_.push_back({from, next_staged_row()});
      from_hidden_.push_back({next_staged_row(), rows[i]});
    }
    tokens_.push_back(step == 0 ? request.pending : request.out[step - 1]);
    segments_.push_back({.state = request.state,
                         .position = state.n_committed - 1 + static_cast<int32_t>(step),
                         .n_rows = 1,
                         .n_certain = 1});
    if (step == 0) {
      // This entry used the target's hidden state. Those of later steps recycle the head's and are
      // overwritten in time.
      state.n_draft_entries = state.n_committed;
      state.drafted_after = request.pending;
    }
  }
  ops_.copy_rows(Act::kNormed, Act::kHidden, from_normed_);
  ops_.copy_rows(Act::kHidden, Act::kNormed, from_hidden_);
  transformer_.draft({.tokens = tokens_, .segments = segments_});
}

}  // namespace slip
