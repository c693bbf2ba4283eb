// A Runner over Ops and StateTable: the course of a step, which is the same on every device.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "backend/draft_chain.h"
#include "backend/runner.h"
#include "backend/state_table.h"
#include "base/thread_pool.h"
#include "model/draft_history.h"
#include "model/ops.h"
#include "model/stored_state.h"
#include "model/transformer.h"
#include "model/weights.h"

namespace slip {

// The options with every size that is 0 replaced by what it stands for. Throws
// Error{kInvalidArgument} for one out of range.
RunnerOptions resolve_sizes(RunnerOptions options, const ModelConfig& config);

// Rows that activations are sized for. `options` are resolved.
OpsPlan ops_plan(const ModelConfig& config, const RunnerOptions& options, int32_t n_splits);
StateLimits state_limits(const RunnerOptions& options);

// What model and options (resolved) say of a runner. Left for the device to fill in: its name, and
// the bytes of packed weights, workspace, states and cache.
//   cache_block_bytes  of a block of cached tokens, all layers
RunnerInfo describe(const LoadedModel& model, const RunnerOptions& options, int32_t n_splits,
                    int64_t cache_block_bytes);

// What a device brings. Members are destroyed from the last one on.
struct ModelRunnerParts {
  LoadedModel model;  // its weights are the ops' already; what they point at is model.owned
  std::unique_ptr<ThreadPool> pool;  // judges rows; the ops may use it too
  std::unique_ptr<StateTable> states;
  std::unique_ptr<Ops> ops;
  std::unique_ptr<Transformer> transformer;  // over these ops
};

class ModelRunner final : public Runner {
 public:
  //   info  complete but for what samplers hold: workspace_bytes grows by that
  //   kind  of the states that it saves and loads
  ModelRunner(ModelRunnerParts parts, RunnerInfo info, StateKind kind);

  const RunnerInfo& info() const override { return info_; }
  std::vector<LaneReport> lanes() const override { return ops_.lanes(); }
  std::optional<StateId> open(const StateOptions& options) override;
  void close(StateId state) override { states_.close(state); }
  std::optional<StateId> fork(StateId state) override;
  bool reserve(StateId state, int32_t n_tokens) override {
    return states_.reserve(state, n_tokens);
  }
  void forward(const Batch& batch) override;
  void accept(std::span<const AcceptRequest> requests, std::span<Verdict> verdicts) override;
  void truncate(StateId state, int32_t n_tokens) override;
  void draft(std::span<const DraftRequest> requests) override;
  std::vector<std::byte> save(StateId state) override;
  std::optional<StateId> load(std::span<const std::byte> bytes) override;
  StateInfo state_info(StateId state) const override { return states_[state].info(); }
  void read_logits(int32_t logit_row, std::span<float> logits) override;
  void read_draft_logits(int32_t request, std::span<float> logits) override;

 private:
  void begin_segments(const Batch& batch);
  void judge_rows(std::span<const AcceptRequest> requests, std::span<const float> logits);
  void check_drafts(std::span<const DraftRequest> requests) const;
  void fold(StateId id);
  bool has_hidden_row(StateId id) const;
  // Rows of `logits`, which are all that the host has.
  std::span<const float> logits_rows(std::span<const float> logits, size_t row,
                                     size_t n_rows) const;

  ModelRunnerParts parts_;
  StateTable& states_;
  ThreadPool& pool_;
  Ops& ops_;
  Transformer& transformer_;
  DraftHistory draft_history_;
  RunnerInfo info_;
  StateKind kind_;

  // Of the last forward; capacities are reserved at load.
  Batch batch_;
  std::vector<PassSegment> pass_segments_;
  std::vector<RowCopy> logit_rows_;       // from batch rows that produce logits
  std::vector<RowQuery> row_queries_;     // [logit rows]
  std::vector<RowChoice> row_choices_;    // [logit rows]
  std::vector<DraftChain> draft_chains_;  // of the last draft run, one a request
  std::vector<int32_t> draft_rows_;       // logit row of each, -1 where it ended before others
  bool awaits_accept_ = false;
  std::vector<RowSampler> samplers_;  // [threads]
};

}  // namespace slip
