// A model without weights: what follows a text is a hash of all of it. Engine and draft code are
// tested on it, since it is exact, instant, and aborts on any use that the contract of
// backend/runner.h forbids.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "backend/runner.h"

namespace slip {

struct ScriptedOptions {
  int32_t vocab_size = 16;
  int32_t context_tokens_max = 1024;
  int64_t cache_tokens_max = 4096;  // rounded down to whole cache blocks
  int32_t states_max = 8;
  int32_t batch_rows_max = 64;
  int32_t logit_rows_max = 64;
  int32_t n_splits = 4;
  bool has_draft_head = true;
  uint64_t seed = 1;  // another seed is another model

  int32_t draft_fails_every = 3;  // the head is wrong where position % n == 0; 0: never
  int32_t nan_position = -1;      // rows at this position produce NaN logits; -1: none
  int32_t device_fails_at_accept =
      0;  // this call of accept, counted from 1, throws Error{kDevice}; 0: none
};

// Calls so far.
struct ScriptedCounts {
  int32_t n_opens = 0;  // states that came alive, by open, fork or load
  int32_t n_closes = 0;
  int32_t n_forwards = 0;
  int32_t n_accepts = 0;
  int32_t n_truncates = 0;
  int32_t truncated_to = -1;  // tokens left by the last truncate
  int32_t n_drafts = 0;       // calls, whatever their number of requests
};

class ScriptedRunner : public Runner {
 public:
  explicit ScriptedRunner(const ScriptedOptions& options);

  const RunnerInfo& info() const override { return info_; }
  std::vector<LaneReport> lanes() const override { return {}; }
  std::optional<StateId> open(const StateOptions& options) override;
  void close(StateId state) override;
  std::optional<StateId> fork(StateId state) override;
  bool reserve(StateId state, int32_t n_tokens) override;
  void forward(const Batch& batch) override;
  void accept(std::span<const AcceptRequest> requests, std::span<Verdict> verdicts) override;
  void truncate(StateId state, int32_t n_tokens) override;
  void draft(std::span<const DraftRequest> requests) override;
  std::vector<std::byte> save(StateId state) override;
  std::optional<StateId> load(std::span<const std::byte> bytes) override;
  StateInfo state_info(StateId state) const override;
  void read_logits(int32_t logit_row, std::span<float> logits) override;
  void read_draft_logits(int32_t request, std::span<float> logits) override;

  // The token that this model puts after `tokens` (at least one), told without running anything.
  TokenId next_token(std::span<const TokenId> tokens) const;

  const ScriptedCounts& counts() const { return counts_; }
  const Batch& last_batch() const { return batch_; }
  int32_t n_states() const { return static_cast<int32_t>(states_.size()); }
  int64_t free_cache_tokens() const;

 private:
  // The cache of a state is its token ids: enough to compute everything else.
  struct State {
    StateId id{};
    StateOptions options;
    std::vector<TokenId> tokens;   // rows run; those from n_committed on count for nothing
    std::vector<uint64_t> hashes;  // [tokens + 1] of the first i tokens
    int32_t n_committed = 0;
    int32_t n_blocks = 0;       // cache blocks reserved
    int32_t truncate_min = -1;  // -1: outside the window in which truncate is legal
  };

  // Enough to compute a row of logits again.
  struct LogitRow {
    int32_t position = 0;
    uint64_t hash = 0;    // of all tokens up to this row's own
    bool is_off = false;  // the draft head errs here
  };

  State& find(StateId state);
  const State& find(StateId state) const;
  State* add_state(const StateOptions& options, int32_t n_tokens);
  void run_segment(const Segment& segment, std::span<const TokenId> tokens);
  LogitRow draft_row(const State& state, const DraftRequest& request);
  void fill_logits(const LogitRow& row, std::span<float> logits) const;
  void fill_logits(std::span<const LogitRow> rows);  // into segment_logits_
  std::optional<TokenId> choice(const LogitRow& row) const;

  ScriptedOptions options_;
  RunnerInfo info_;
  ScriptedCounts counts_;
  std::vector<State> states_;  // alive, in order of birth
  int32_t n_blocks_free_ = 0;
  int32_t next_state_ = 0;            // ids are never used twice, so a stale one is noticed
  Batch batch_;                       // of the last forward
  bool is_accept_due_ = false;        // a forward has run and nobody has asked for its verdicts
  std::vector<LogitRow> logit_rows_;  // of the last forward
  std::vector<LogitRow> draft_rows_;  // of the last draft run, one a request
  std::vector<RowQuery> row_queries_;
  std::vector<RowChoice> row_choices_;
  std::vector<float> segment_logits_;
  RowSampler sampler_;
  mutable std::vector<float> row_logits_;  // [vocab_size], scratch of choice()
};

}  // namespace slip
