#include "backend/cpu/cpu_runner.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "backend/cpu/cpu_ops.h"
#include "backend/cpu/kernels/table.h"
#include "backend/cpu/lanes.h"
#include "backend/cpu/reference_ops.h"
#include "backend/cpu/state_io.h"
#include "backend/cpu/state_table.h"
#include "backend/draft_chain.h"
#include "backend/row_queries.h"
#include "base/check.h"
#include "base/cpu_features.h"
#include "base/error.h"
#include "base/process_memory.h"
#include "base/thread_pool.h"
#include "model/draft_history.h"
#include "model/transformer.h"

namespace slip::cpu {

namespace {

constexpr int32_t kBatchRowsMax = 4096;
constexpr int32_t kStatesMax = 1024;

int32_t in_range(const char* name, int64_t value, int64_t min, int64_t max) {
  if (value >= min && value <= max) return static_cast<int32_t>(value);
  throw Error(ErrorCode::kInvalidArgument, std::string(name) + ": found " + std::to_string(value) +
                                               ", wanted " + std::to_string(min) + " to " +
                                               std::to_string(max));
}

constexpr std::string_view kReference = "reference";  // the definitions instead of a table

// What is decided before anything is laid out.
struct Choice {
  Lanes lanes;
  KvFormat cache;  // in the order that the attention kernel reads
};

// Checks the attention kernel on the way. Throws Error{kInvalidArgument} for a lane or a kernel
// that is not there.
Choice choose_lanes(const ModelConfig& config, const RunnerOptions& options) {
  const int32_t head_dim = config.attention.head_dim;
  if (options.kernels == kReference) {
    if (!options.lanes.empty() || !options.injected_lane.empty()) {
      throw Error(ErrorCode::kInvalidArgument,
                  "lane: found kernels \"reference\", wanted a table: definitions have no lanes");
    }
    return {{}, {options.kv_type, token_major(head_dim), token_major(head_dim)}};
  }
  Choice choice{make_lanes(options.lanes, options.injected_lane), {}};
  const KernelTable& table = choose(cpu_features(), options.kernels);
  choice.cache = choose_attention(table, config.attention, options.kv_type, choice.lanes.attention)
                     .format(head_dim);
  return choice;
}

// Weights in the order of the kernels are a copy. Throws Error{kInsufficientMemory}.
void check_room_for_copy(const LoadedModel& model) {
  const int64_t wanted = matrix_bytes(model);
  const int64_t found = available_memory_bytes();
  if (wanted <= found) return;
  throw Error(ErrorCode::kInsufficientMemory,
              "weights in the order of the kernels: found " + std::to_string(found) +
                  " bytes of memory, wanted " + std::to_string(wanted) +
                  "; with lane product=off they stay as they lie in the file, which is slower");
}

// The options with every 0 and every empty name replaced by what it stands for, all of them in
// range.
RunnerOptions resolve(RunnerOptions options, const ModelConfig& config) {
  check_widths(config);
  if (options.n_threads == 0) options.n_threads = usable_cores();
  if (options.context_tokens_max == 0) options.context_tokens_max = config.context_tokens_max;
  if (options.cache_tokens_max == 0) options.cache_tokens_max = options.context_tokens_max;
  in_range("threads", options.n_threads, 1, ThreadPool::kThreadsMax);
  in_range("context tokens", options.context_tokens_max, 1, config.context_tokens_max);
  in_range("cache tokens", options.cache_tokens_max, 1, INT32_MAX);
  in_range("states", options.states_max, 1, kStatesMax);
  in_range("batch rows", options.batch_rows_max, kSegmentRowsMax, kBatchRowsMax);
  SLIP_CHECK(is_plain_float(options.kv_type));
  if (options.kernels != kReference) options.kernels = choose(cpu_features(), options.kernels).name;
  return options;
}

class CpuRunner : public Runner {
 public:
  CpuRunner(LoadedModel model, uint64_t fingerprint, const RunnerOptions& options, Choice choice);

  const RunnerInfo& info() const override { return info_; }
  std::vector<LaneReport> lanes() const override { return ops_->lanes(); }
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
  static std::unique_ptr<OpsStorage> make_ops(const ModelConfig& config,
                                              const RunnerOptions& options, StateTable& states,
                                              ThreadPool& pool, Lanes lanes);
  void begin_segments(const Batch& batch);
  void judge_rows(std::span<const AcceptRequest> requests);
  void fold(StateId id);
  std::span<float> last_hidden(StateId id) const;
  std::span<const float> logits_rows(size_t row, size_t n_rows) const;
  std::span<const float> logits_row(int32_t row) const {
    return logits_rows(static_cast<size_t>(row), 1);
  }

  ModelConfig config_;
  OwnedBytes owned_;  // what the weights of ops_ point at beside the file
  StateTable states_;
  ThreadPool pool_;
  std::unique_ptr<OpsStorage> ops_;
  Transformer transformer_;
  DraftHistory draft_history_;
  RunnerInfo info_;
  uint64_t fingerprint_;

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

CpuRunner::CpuRunner(LoadedModel model, uint64_t fingerprint, const RunnerOptions& options,
                     Choice choice)
    : config_(model.config),
      owned_(std::move(model.owned)),
      states_(StateLayout(config_, choice.cache), options.states_max, options.context_tokens_max,
              options.cache_tokens_max),
      pool_(options.n_threads),
      ops_(make_ops(config_, options, states_, pool_, std::move(choice.lanes))),
      transformer_(model, *ops_),
      draft_history_(
          config_, transformer_, *ops_,
          [this](StateId id) -> SequenceProgress& { return states_[id]; }, options.states_max,
          options.batch_rows_max),
      fingerprint_(fingerprint) {
  const StateLayout& layout = states_.layout();
  const int64_t cache_bytes_per_token =
      static_cast<int64_t>(layout.kv.block_bytes()) / kCacheBlockTokens;
  info_ = {.device = device_name(options.kernels, options.n_threads),
           .kernels = options.kernels,
           .kv_type = options.kv_type,
           .vocab_size = config_.vocab_size,
           .context_tokens_max = options.context_tokens_max,
           .batch_rows_max = options.batch_rows_max,
           .logit_rows_max = options.batch_rows_max,
           .states_max = options.states_max,
           .n_splits = kSplits,
           .has_draft_head = config_.has_draft_head,
           .weight_bytes = matrix_bytes(model),
           .step_weight_bytes = step_matrix_bytes(model),
           .packed_weight_bytes = ops_->packed_bytes(),
           .workspace_bytes = ops_->workspace_bytes() +
                              options.n_threads * RowSampler::memory_bytes(config_.vocab_size),
           .state_bytes = layout.n_bytes(),
           .cache_bytes_per_token = cache_bytes_per_token,
           .step_cache_bytes_per_token =
               cache_bytes_per_token / layout.kv.n_layers * layout.n_trunk_kv_layers,
           .cache_bytes = states_.pool().n_bytes()};
  const auto n_rows = static_cast<size_t>(options.batch_rows_max);
  batch_.tokens.reserve(n_rows);
  batch_.segments.reserve(static_cast<size_t>(options.states_max));
  pass_segments_.reserve(static_cast<size_t>(options.states_max));
  logit_rows_.reserve(n_rows);
  row_queries_.reserve(n_rows);
  row_choices_.reserve(n_rows);
  samplers_.assign(static_cast<size_t>(options.n_threads), RowSampler(config_.vocab_size));
  draft_chains_.reserve(static_cast<size_t>(options.states_max));
  draft_rows_.reserve(static_cast<size_t>(options.states_max));
}

std::unique_ptr<OpsStorage> CpuRunner::make_ops(const ModelConfig& config,
                                                const RunnerOptions& options, StateTable& states,
                                                ThreadPool& pool, Lanes lanes) {
  const OpsPlan plan{
      .batch_rows_max = options.batch_rows_max,
      .logit_rows_max = options.batch_rows_max,
      .hidden_rows_max = hidden_rows_max(config, options.states_max, options.batch_rows_max),
      .states_max = options.states_max,
      .n_splits = kSplits};
  if (options.kernels == kReference)
    return std::make_unique<ReferenceOps>(config, states.layout(), states.all(), plan);
  const KernelTable& table = choose(cpu_features(), options.kernels);
  return std::make_unique<CpuOps>(config, states.layout(), states.all(), plan, pool, table,
                                  std::move(lanes));
}

std::optional<StateId> CpuRunner::open(const StateOptions& options) {
  SLIP_CHECK(!options.keeps_draft_history || config_.has_draft_head);
  return states_.open(options);
}

std::optional<StateId> CpuRunner::fork(StateId state) {
  const std::optional<StateId> child = states_.fork(state);
  if (child) draft_history_.fork(state, *child);
  return child;
}

void CpuRunner::forward(const Batch& batch) {
  SLIP_CHECK(!awaits_accept_);
  check_batch(batch, info_);
  begin_segments(batch);
  const Pass pass{.tokens = batch_.tokens, .segments = pass_segments_};
  transformer_.forward(pass, logit_rows_);
  draft_history_.extend(batch_);
  for (const Segment& s : batch_.segments) states_[s.state].n_folded = s.position + s.n_certain;
  awaits_accept_ = true;
}

// Copies the batch and puts its tokens behind the committed ones of each state.
void CpuRunner::begin_segments(const Batch& batch) {
  batch_.tokens.assign(batch.tokens.begin(), batch.tokens.end());
  batch_.segments.assign(batch.segments.begin(), batch.segments.end());
  pass_segments_.clear();
  logit_rows_.clear();
  int32_t row = 0;
  for (const Segment& s : batch_.segments) {
    SequenceState& state = states_[s.state];
    SLIP_CHECK(s.position == state.n_committed);
    SLIP_CHECK(s.position + s.n_rows <= states_.tokens_reserved(s.state));
    const auto tokens = std::span<const TokenId>(batch_.tokens)
                            .subspan(static_cast<size_t>(row), static_cast<size_t>(s.n_rows));
    state.begin_rows(tokens);
    pass_segments_.push_back({.state = s.state,
                              .position = s.position,
                              .n_rows = s.n_rows,
                              .n_certain = s.n_certain,
                              .n_fold = state.n_to_fold()});
    for (int32_t i = s.n_rows - s.n_logit_rows(); i < s.n_rows; ++i)
      logit_rows_.push_back({row + i, static_cast<int32_t>(logit_rows_.size())});
    row += s.n_rows;
  }
}

// Every row on its own; those that block verification judges together wait for their segment.
void CpuRunner::judge_rows(std::span<const AcceptRequest> requests) {
  make_row_queries(batch_, requests, row_queries_);
  row_choices_.assign(row_queries_.size(), {});
  pool_.run(static_cast<int>(row_queries_.size()), [&](int row, int thread) {
    const auto i = static_cast<size_t>(row);
    if (judges_blocks(row_queries_[i].maybe_sampling)) return;
    row_choices_[i] =
        samplers_[static_cast<size_t>(thread)].choose(logits_row(row), row_queries_[i]);
  });
}

void CpuRunner::accept(std::span<const AcceptRequest> requests, std::span<Verdict> verdicts) {
  SLIP_CHECK(awaits_accept_ && verdicts.size() == batch_.segments.size());
  awaits_accept_ = false;
  judge_rows(requests);
  size_t row = 0;
  for (size_t i = 0; i < verdicts.size(); ++i) {
    const Segment& s = batch_.segments[i];
    const auto n_rows = static_cast<size_t>(s.n_logit_rows());
    verdicts[i] = {};
    if (n_rows > 0 && judges_blocks(row_queries_[row].maybe_sampling)) {
      verdicts[i] = samplers_[0].accept_block(logits_rows(row, n_rows), row_queries_[row]);
    } else if (n_rows > 0) {
      verdicts[i] = slip::accept(std::span<const RowChoice>(row_choices_).subspan(row, n_rows));
    }
    row += n_rows;
    states_[s.state].commit(s.position + s.n_certain + verdicts[i].n_accepted);
  }
}

void CpuRunner::truncate(StateId id, int32_t n_tokens) {
  SLIP_CHECK(!awaits_accept_);
  states_[id].truncate(n_tokens);
}

void CpuRunner::draft(std::span<const DraftRequest> requests) {
  SLIP_CHECK(!awaits_accept_ && config_.has_draft_head);
  for (const DraftRequest& request : requests) {
    SLIP_CHECK(states_[request.state].options.keeps_draft_history &&
               states_[request.state].n_committed > 0);
    SLIP_CHECK(!request.out.empty() && request.out.size() <= kDraftTokensMax);
    const auto n_rows =
        states_[request.state].n_committed + static_cast<int32_t>(request.out.size());
    SLIP_CHECK(n_rows <= states_.tokens_reserved(request.state));
  }
  draft_history_.begin_draft(requests);
  draft_chains_.assign(requests.size(), {});
  const auto is_over = [](const DraftChain& chain) { return chain.is_over; };
  while (!std::ranges::all_of(draft_chains_, is_over)) {
    draft_history_.step_draft(requests, draft_chains_, draft_rows_);
    for (size_t i = 0; i < requests.size(); ++i) {
      if (draft_rows_[i] < 0) continue;
      extend(draft_chains_[i], requests[i], states_[requests[i].state].n_committed,
             logits_row(draft_rows_[i]), samplers_[0]);
    }
  }
}

void CpuRunner::fold(StateId id) {
  SequenceState& state = states_[id];
  const PassSegment segment{
      .state = id, .position = state.n_committed, .n_fold = state.n_to_fold()};
  transformer_.fold({.tokens = {}, .segments = {&segment, 1}});
  state.n_folded = state.n_committed;
}

std::vector<std::byte> CpuRunner::save(StateId id) {
  SLIP_CHECK(!awaits_accept_);
  draft_history_.settle(id);
  fold(id);
  return write_state(states_[id], last_hidden(id), states_.layout(), fingerprint_);
}

// The hidden state that the head's next entry will use; empty where there is none.
std::span<float> CpuRunner::last_hidden(StateId id) const {
  const SequenceState& state = states_[id];
  if (!state.options.keeps_draft_history || state.n_committed == 0) return {};
  return {ops_->row(Act::kHidden, draft_history_.last_hidden_row(id)), ops_->stride(Act::kHidden)};
}

std::optional<StateId> CpuRunner::load(std::span<const std::byte> bytes) {
  const StateHeader header = read_state_header(bytes, states_.layout(), info_, fingerprint_);
  const std::optional<StateId> id =
      states_.open({.keeps_draft_history = header.keeps_draft_history != 0});
  if (!id) return std::nullopt;
  if (!states_.reserve(*id, header.n_committed)) {
    states_.close(*id);
    return std::nullopt;
  }
  states_[*id].resume(header.n_committed);
  read_state_body(bytes, header, states_.layout(), states_[*id], last_hidden(*id));
  return id;
}

std::span<const float> CpuRunner::logits_rows(size_t row, size_t n_rows) const {
  const auto n = static_cast<size_t>(config_.vocab_size);
  return {ops_->act(Act::kLogits) + row * n, n_rows * n};
}

void CpuRunner::read_logits(int32_t logit_row, std::span<float> logits) {
  SLIP_CHECK(static_cast<size_t>(logit_row) < logit_rows_.size());
  std::ranges::copy(logits_row(logit_row), logits.begin());
}

void CpuRunner::read_draft_logits(int32_t request, std::span<float> logits) {
  SLIP_CHECK(static_cast<size_t>(request) < draft_rows_.size() &&
             draft_rows_[static_cast<size_t>(request)] >= 0);
  std::ranges::copy(logits_row(draft_rows_[static_cast<size_t>(request)]), logits.begin());
}

}  // namespace

std::unique_ptr<Runner> load_runner(const ModelFile& file, const RunnerOptions& options) {
  LoadedModel model = load_model(file);
  const uint64_t fingerprint = model_fingerprint(file, model.config);
  std::unique_ptr<Runner> runner = make_runner(std::move(model), fingerprint, options);
  if (runner->info().packed_weight_bytes > 0) file.release_pages();
  return runner;
}

std::unique_ptr<Runner> make_runner(LoadedModel model, uint64_t fingerprint,
                                    const RunnerOptions& options) {
  const RunnerOptions resolved = resolve(options, model.config);
  Choice choice = choose_lanes(model.config, resolved);
  if (resolved.kernels != kReference && !choice.lanes.product.wants_plain())
    check_room_for_copy(model);
  return std::make_unique<CpuRunner>(std::move(model), fingerprint, resolved, std::move(choice));
}

}  // namespace slip::cpu
