#include "backend/cpu/draft_history.h"

#include <algorithm>

#include "base/check.h"

namespace slip::cpu {

DraftHistory::DraftHistory(const ModelConfig& config, Transformer& transformer, OpsStorage& ops,
                           int32_t states_max, int32_t batch_rows_max)
    : hidden_size_(config.hidden_size),
      rows_max_(batch_rows_max),
      transformer_(transformer),
      ops_(ops) {
  if (!config.has_draft_head) return;
  const auto n = static_cast<size_t>(batch_rows_max + kHiddenRows * states_max);
  staged_ = FloatBuffer(n * static_cast<size_t>(hidden_size_));
  tokens_.reserve(n);
  segments_.reserve(n / kSegmentRowsMax + static_cast<size_t>(states_max));
}

float* DraftHistory::normed(int32_t row) {
  return ops_.act(Act::kNormed) + static_cast<size_t>(row) * static_cast<size_t>(hidden_size_);
}

// Puts one entry behind the others. Entries of a sequence come in order.
void DraftHistory::stage(const SequenceState& state, int32_t entry, const float* hidden) {
  const size_t n = tokens_.size();
  std::copy_n(hidden, hidden_size_, staged_.data() + n * static_cast<size_t>(hidden_size_));
  tokens_.push_back(state.ids[static_cast<size_t>(entry) + 1]);
}

// Stages entries [n_draft_entries, entry_end), whose hidden states the state has kept.
void DraftHistory::stage_kept(SequenceState& state, int32_t entry_end) {
  SLIP_CHECK(entry_end <= state.n_draft_entries || state.n_draft_entries >= state.hidden_begin);
  for (int32_t entry = state.n_draft_entries; entry < entry_end; ++entry) {
    const auto row = static_cast<size_t>(entry - state.hidden_begin);
    stage(state, entry, state.hidden.data() + row * static_cast<size_t>(hidden_size_));
  }
}

// The entries staged for this state, up to `entry_end`, become segments that fit a pass.
void DraftHistory::close_segments(StateId id, SequenceState& state, int32_t entry_end) {
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
}

void DraftHistory::extend(const Batch& batch, StateTable& states) {
  clear_staged();
  int32_t row = 0;
  for (const Segment& s : batch.segments) {
    SequenceState& state = states[s.state];
    if (state.options.keeps_draft_history) {
      const bool fits = s.position + s.n_rows - state.hidden_begin <= kHiddenRows;
      if (s.n_certain > 1 || !fits) stage_all_certain(s, row, state);
      keep_rows(s, row, state);
    }
    row += s.n_rows;
  }
  append_staged();
}

// Each certain row but the last knows the token that follows it.
void DraftHistory::stage_all_certain(const Segment& s, int32_t row, SequenceState& state) {
  stage_kept(state, s.position);
  for (int32_t i = 0; i + 1 < s.n_certain; ++i) stage(state, s.position + i, normed(row + i));
  state.hidden_begin = s.position + s.n_certain - 1;
  close_segments(s.state, state, state.hidden_begin);
}

// Those that are not staged: from the last certain row on where there are several.
void DraftHistory::keep_rows(const Segment& s, int32_t row, SequenceState& state) {
  const auto width = static_cast<size_t>(hidden_size_);
  const int32_t first = s.n_certain - 1;
  const auto at = static_cast<size_t>(s.position + first - state.hidden_begin);
  std::copy_n(normed(row + first), static_cast<size_t>(s.n_rows - first) * width,
              state.hidden.data() + at * width);
}

void DraftHistory::settle(StateId id, StateTable& states) {
  SequenceState& state = states[id];
  if (!state.options.keeps_draft_history) return;
  clear_staged();
  stage_kept(state, state.n_committed - 1);
  close_segments(id, state, state.n_committed - 1);
  append_staged();
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
    const auto width = static_cast<size_t>(hidden_size_);
    std::copy_n(staged_.data() + row * width, n_rows * width, normed(0));
    transformer_.append_draft_history(
        {.tokens = std::span<const TokenId>(tokens_).subspan(row, n_rows),
         .segments = std::span<const PassSegment>(segments_).subspan(begin, end - begin)});
    row += n_rows;
    begin = end;
  }
}

void DraftHistory::begin_draft(std::span<const DraftRequest> requests, StateTable& states) {
  clear_staged();
  for (const DraftRequest& request : requests) {
    SequenceState& state = states[request.state];
    stage_kept(state, state.n_committed - 1);
    close_segments(request.state, state, state.n_committed - 1);
  }
  append_staged();
  for (size_t i = 0; i < requests.size(); ++i) {
    const SequenceState& state = states[requests[i].state];
    const auto row = static_cast<size_t>(state.n_committed - 1 - state.hidden_begin);
    std::copy_n(state.hidden.data() + row * static_cast<size_t>(hidden_size_), hidden_size_,
                normed(static_cast<int32_t>(i)));
  }
}

void DraftHistory::step_draft(std::span<const DraftRequest> requests,
                              std::span<const DraftChain> chains, StateTable& states,
                              std::vector<int32_t>& rows) {
  clear_staged();
  rows.resize(requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    const DraftRequest& request = requests[i];
    SequenceState& state = states[request.state];
    const auto step = static_cast<size_t>(chains[i].n_drafted);
    const int32_t from = step == 0 ? static_cast<int32_t>(i) : rows[i];
    rows[i] = -1;
    if (chains[i].is_over) continue;
    rows[i] = static_cast<int32_t>(tokens_.size());
    // The head recycles its own hidden state; rows close up where a request has stopped.
    if (from != rows[i]) std::copy_n(normed(from), hidden_size_, normed(rows[i]));
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
  transformer_.draft({.tokens = tokens_, .segments = segments_});
}

}  // namespace slip::cpu
