#include "model/model_runner.h"

#include <algorithm>
#include <string>
#include <utility>

#include "backend/row_queries.h"
#include "backend/split_rule.h"
#include "base/check.h"
#include "base/error.h"

namespace slip {
namespace {

constexpr int32_t kBatchRowsMax = 4096;
constexpr int32_t kStatesMax = 1024;

void check_range(const char* name, int64_t value, int64_t min, int64_t max) {
  if (value >= min && value <= max) return;
  throw Error(ErrorCode::kInvalidArgument, std::string(name) + ": found " + std::to_string(value) +
                                               ", wanted " + std::to_string(min) + " to " +
                                               std::to_string(max));
}

}  // namespace

RunnerOptions resolve_sizes(RunnerOptions options, const ModelConfig& config) {
  if (options.n_threads == 0) options.n_threads = usable_cores();
  if (options.context_tokens_max == 0) options.context_tokens_max = config.context_tokens_max;
  if (options.cache_tokens_max == 0) options.cache_tokens_max = options.context_tokens_max;
  check_range("threads", options.n_threads, 1, ThreadPool::kThreadsMax);
  check_range("context tokens", options.context_tokens_max, 1, config.context_tokens_max);
  check_range("cache tokens", options.cache_tokens_max, 1, INT32_MAX);
  check_range("states", options.states_max, 1, kStatesMax);
  check_range("batch rows", options.batch_rows_max, kSegmentRowsMax, kBatchRowsMax);
  SLIP_CHECK(is_plain_float(options.kv_type));
  return options;
}

OpsPlan ops_plan(const ModelConfig& config, const RunnerOptions& options, int32_t n_splits) {
  return {.batch_rows_max = options.batch_rows_max,
          .logit_rows_max = options.batch_rows_max,
          .hidden_rows_max = hidden_rows_max(config, options.states_max, options.batch_rows_max),
          .states_max = options.states_max,
          .n_splits = n_splits};
}

StateLimits state_limits(const RunnerOptions& options) {
  return {.states_max = options.states_max,
          .context_tokens_max = options.context_tokens_max,
          .cache_tokens_max = options.cache_tokens_max};
}

RunnerInfo describe(const LoadedModel& model, const RunnerOptions& options, int32_t n_splits,
                    int64_t cache_block_bytes) {
  const ModelConfig& config = model.config;
  const int64_t cache_bytes_per_token = cache_block_bytes / kCacheBlockTokens;
  return {.kernels = options.kernels,
          .kv_type = options.kv_type,
          .vocab_size = config.vocab_size,
          .context_tokens_max = options.context_tokens_max,
          .batch_rows_max = options.batch_rows_max,
          .logit_rows_max = options.batch_rows_max,
          .states_max = options.states_max,
          .n_splits = n_splits,
          .has_draft_head = config.has_draft_head,
          .weight_bytes = matrix_bytes(model),
          .step_weight_bytes = step_matrix_bytes(model),
          .cache_bytes_per_token = cache_bytes_per_token,
          .step_cache_bytes_per_token = cache_bytes_per_token / config.n_kv_layers() *
                                        config.n_layers(MixerKind::kAttention)};
}

ModelRunner::ModelRunner(ModelRunnerParts parts, RunnerInfo info, StateKind kind)
    : parts_(std::move(parts)),
      states_(*parts_.states),
      pool_(*parts_.pool),
      ops_(*parts_.ops),
      transformer_(*parts_.transformer),
      draft_history_(
          parts_.model.config, transformer_, ops_,
          [this](StateId id) -> SequenceProgress& { return states_[id]; }, info.states_max,
          info.batch_rows_max),
      info_(std::move(info)),
      kind_(std::move(kind)) {
  const int32_t vocab_size = parts_.model.config.vocab_size;
  const auto n_threads = static_cast<size_t>(pool_.n_threads());
  info_.workspace_bytes += pool_.n_threads() * RowSampler::memory_bytes(vocab_size);
  const auto n_rows = static_cast<size_t>(info_.batch_rows_max);
  const auto n_states = static_cast<size_t>(info_.states_max);
  batch_.tokens.reserve(n_rows);
  batch_.segments.reserve(n_states);
  pass_segments_.reserve(n_states);
  logit_rows_.reserve(n_rows);
  row_queries_.reserve(n_rows);
  row_choices_.reserve(n_rows);
  samplers_.assign(n_threads, RowSampler(vocab_size));
  draft_chains_.reserve(n_states);
  draft_rows_.reserve(n_states);
}

std::optional<StateId> ModelRunner::open(const StateOptions& options) {
  SLIP_CHECK(!options.keeps_draft_history || info_.has_draft_head);
  return states_.open(options);
}

std::optional<StateId> ModelRunner::fork(StateId state) {
  const std::optional<StateId> child = states_.fork(state);
  if (child) draft_history_.fork(state, *child);
  return child;
}

void ModelRunner::forward(const Batch& batch) {
  SLIP_CHECK(!awaits_accept_);
  check_batch(batch, info_);
  begin_segments(batch);
  transformer_.forward({.tokens = batch_.tokens, .segments = pass_segments_}, logit_rows_);
  draft_history_.extend(batch_);
  for (const Segment& s : batch_.segments) states_[s.state].n_folded = s.position + s.n_certain;
  awaits_accept_ = true;
}

// Copies the batch and puts its tokens behind the committed ones of each state.
void ModelRunner::begin_segments(const Batch& batch) {
  batch_.tokens.assign(batch.tokens.begin(), batch.tokens.end());
  batch_.segments.assign(batch.segments.begin(), batch.segments.end());
  pass_segments_.clear();
  logit_rows_.clear();
  int32_t row = 0;
  for (const Segment& s : batch_.segments) {
    SequenceProgress& state = states_[s.state];
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

std::span<const float> ModelRunner::logits_rows(std::span<const float> logits, size_t row,
                                                size_t n_rows) const {
  const auto n = static_cast<size_t>(info_.vocab_size);
  return logits.subspan(row * n, n_rows * n);
}

// Every row on its own; those that block verification judges together wait for their segment.
void ModelRunner::judge_rows(std::span<const AcceptRequest> requests,
                             std::span<const float> logits) {
  make_row_queries(batch_, requests, row_queries_);
  row_choices_.assign(row_queries_.size(), {});
  pool_.run(static_cast<int>(row_queries_.size()), [&](int row, int thread) {
    const auto i = static_cast<size_t>(row);
    if (judges_blocks(row_queries_[i].maybe_sampling)) return;
    row_choices_[i] =
        samplers_[static_cast<size_t>(thread)].choose(logits_rows(logits, i, 1), row_queries_[i]);
  });
}

void ModelRunner::accept(std::span<const AcceptRequest> requests, std::span<Verdict> verdicts) {
  SLIP_CHECK(awaits_accept_ && verdicts.size() == batch_.segments.size());
  awaits_accept_ = false;
  const std::span<const float> logits =
      ops_.read(Act::kLogits, 0, static_cast<int32_t>(logit_rows_.size()));
  judge_rows(requests, logits);
  size_t row = 0;
  for (size_t i = 0; i < verdicts.size(); ++i) {
    const Segment& s = batch_.segments[i];
    const auto n_rows = static_cast<size_t>(s.n_logit_rows());
    verdicts[i] = {};
    if (n_rows > 0 && judges_blocks(row_queries_[row].maybe_sampling)) {
      verdicts[i] = samplers_[0].accept_block(logits_rows(logits, row, n_rows), row_queries_[row]);
    } else if (n_rows > 0) {
      verdicts[i] = slip::accept(std::span<const RowChoice>(row_choices_).subspan(row, n_rows));
    }
    row += n_rows;
    states_[s.state].commit(s.position + s.n_certain + verdicts[i].n_accepted);
  }
}

void ModelRunner::truncate(StateId id, int32_t n_tokens) {
  SLIP_CHECK(!awaits_accept_);
  states_[id].truncate(n_tokens);
}

void ModelRunner::check_drafts(std::span<const DraftRequest> requests) const {
  SLIP_CHECK(!awaits_accept_ && info_.has_draft_head);
  for (const DraftRequest& request : requests) {
    const SequenceProgress& state = states_[request.state];
    SLIP_CHECK(state.options.keeps_draft_history && state.n_committed > 0);
    SLIP_CHECK(!request.out.empty() && request.out.size() <= kDraftTokensMax);
    SLIP_CHECK(state.n_committed + static_cast<int32_t>(request.out.size()) <=
               states_.tokens_reserved(request.state));
  }
}

void ModelRunner::draft(std::span<const DraftRequest> requests) {
  check_drafts(requests);
  draft_history_.begin_draft(requests);
  draft_chains_.assign(requests.size(), {});
  const auto is_over = [](const DraftChain& chain) { return chain.is_over; };
  while (!std::ranges::all_of(draft_chains_, is_over)) {
    draft_history_.step_draft(requests, draft_chains_, draft_rows_);
    const auto n_rows = static_cast<int32_t>(
        std::ranges::count_if(draft_rows_, [](int32_t row) { return row >= 0; }));
    const std::span<const float> logits = ops_.read(Act::kLogits, 0, n_rows);
    for (size_t i = 0; i < requests.size(); ++i) {
      if (draft_rows_[i] < 0) continue;
      extend(draft_chains_[i], requests[i], states_[requests[i].state].n_committed,
             logits_rows(logits, static_cast<size_t>(draft_rows_[i]), 1), samplers_[0]);
    }
  }
}

void ModelRunner::fold(StateId id) {
  SequenceProgress& state = states_[id];
  const PassSegment segment{
      .state = id, .position = state.n_committed, .n_fold = state.n_to_fold()};
  transformer_.fold({.tokens = {}, .segments = {&segment, 1}});
  state.n_folded = state.n_committed;
}

// The head's next entry will use the hidden state of the last committed token.
bool ModelRunner::has_hidden_row(StateId id) const {
  const SequenceProgress& state = states_[id];
  return state.options.keeps_draft_history && state.n_committed > 0;
}

std::vector<std::byte> ModelRunner::save(StateId id) {
  SLIP_CHECK(!awaits_accept_);
  draft_history_.settle(id);
  fold(id);
  std::vector<float> hidden;
  if (has_hidden_row(id)) {
    const auto row = ops_.read(Act::kHidden, draft_history_.last_hidden_row(id), 1);
    hidden.assign(row.begin(), row.end());
  }
  return write_state(states_, id, hidden, kind_);
}

std::optional<StateId> ModelRunner::load(std::span<const std::byte> bytes) {
  const ModelConfig& config = parts_.model.config;
  const StateHeader header =
      read_state_header(bytes, states_, config, info_.context_tokens_max, kind_);
  const std::optional<StateId> id =
      states_.open({.keeps_draft_history = header.keeps_draft_history != 0});
  if (!id) return std::nullopt;
  if (!states_.reserve(*id, header.n_committed)) {
    states_.close(*id);
    return std::nullopt;
  }
  std::vector<float> hidden(static_cast<size_t>(config.hidden_size));
  read_state(bytes, header, states_, *id, hidden);
  if (has_hidden_row(*id)) ops_.write(Act::kHidden, draft_history_.last_hidden_row(*id), hidden);
  return id;
}

void ModelRunner::read_logits(int32_t logit_row, std::span<float> logits) {
  SLIP_CHECK(static_cast<size_t>(logit_row) < logit_rows_.size());
  std::ranges::copy(ops_.read(Act::kLogits, logit_row, 1), logits.begin());
}

void ModelRunner::read_draft_logits(int32_t request, std::span<float> logits) {
  SLIP_CHECK(static_cast<size_t>(request) < draft_rows_.size() &&
             draft_rows_[static_cast<size_t>(request)] >= 0);
  std::ranges::copy(ops_.read(Act::kLogits, draft_rows_[static_cast<size_t>(request)], 1),
                    logits.begin());
}

}  // namespace slip
