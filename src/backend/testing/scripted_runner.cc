#include "backend/testing/scripted_runner.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "backend/draft_chain.h"
#include "backend/row_queries.h"
#include "backend/split_rule.h"
#include "base/check.h"
#include "base/error.h"
#include "base/hash.h"

namespace slip {
namespace {

constexpr uint64_t kSavedMagic = 0x31594f5450494c53;  // "SLIPTOY1"

// Head of a saved state; the token ids follow.
struct SavedHeader {
  uint64_t magic = kSavedMagic;
  uint64_t seed = 0;
  uint64_t token_hash = 0;
  int32_t vocab_size = 0;
  int32_t n_tokens = 0;
  int64_t keeps_draft_history = 0;
};

// The finaliser of SplitMix64 (Steele, Lea, Flood 2014): every input bit reaches every output bit.
uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

uint64_t extend(uint64_t hash, TokenId token) { return mix(hash ^ (index(token) + 1)); }

int32_t blocks_for(int32_t n_tokens) {
  return (n_tokens + kCacheBlockTokens - 1) / kCacheBlockTokens;
}

RunnerInfo info_of(const ScriptedOptions& o) {
  RunnerInfo info;
  info.device = "scripted";
  info.vocab_size = o.vocab_size;
  info.context_tokens_max = o.context_tokens_max;
  info.batch_rows_max = o.batch_rows_max;
  info.logit_rows_max = o.logit_rows_max;
  info.states_max = o.states_max;
  info.n_splits = o.n_splits;
  info.has_draft_head = o.has_draft_head;
  info.state_bytes = sizeof(SavedHeader);
  info.cache_bytes_per_token = sizeof(TokenId);
  info.cache_bytes =
      o.cache_tokens_max / kCacheBlockTokens * kCacheBlockTokens * info.cache_bytes_per_token;
  return info;
}

[[noreturn]] void refuse_saved(const std::string& what) {
  refuse_file("saved state of a scripted runner", what);
}

}  // namespace

ScriptedRunner::ScriptedRunner(const ScriptedOptions& options)
    : options_(options),
      info_(info_of(options)),
      n_blocks_free_(static_cast<int32_t>(options.cache_tokens_max / kCacheBlockTokens)),
      sampler_(options.vocab_size),
      row_logits_(static_cast<size_t>(options.vocab_size)) {
  states_.reserve(static_cast<size_t>(options.states_max));
  batch_.tokens.reserve(static_cast<size_t>(options.batch_rows_max));
  batch_.segments.reserve(static_cast<size_t>(options.states_max));
  logit_rows_.reserve(static_cast<size_t>(options.logit_rows_max));
  row_queries_.reserve(static_cast<size_t>(options.logit_rows_max));
  row_choices_.reserve(static_cast<size_t>(options.logit_rows_max));
  segment_logits_.reserve(static_cast<size_t>(options.vocab_size) * kSegmentRowsMax);
  draft_rows_.reserve(static_cast<size_t>(options.states_max));
}

const ScriptedRunner::State& ScriptedRunner::find(StateId state) const {
  const auto found = std::ranges::find(states_, state, &State::id);
  SLIP_CHECK(found != states_.end());
  return *found;
}

ScriptedRunner::State& ScriptedRunner::find(StateId state) {
  return const_cast<State&>(std::as_const(*this).find(state));
}

// Nothing when the new state or its first `n_tokens` find no room.
ScriptedRunner::State* ScriptedRunner::add_state(const StateOptions& options, int32_t n_tokens) {
  SLIP_CHECK(!is_accept_due_);
  SLIP_CHECK(!options.keeps_draft_history || options_.has_draft_head);
  if (n_states() == options_.states_max || blocks_for(n_tokens) > n_blocks_free_) return nullptr;
  State& state = states_.emplace_back();
  state.id = StateId{next_state_++};
  state.options = options;
  state.hashes.push_back(mix(options_.seed));
  ++counts_.n_opens;
  SLIP_CHECK(reserve(state.id, n_tokens));
  return &state;
}

std::optional<StateId> ScriptedRunner::open(const StateOptions& options) {
  const State* state = add_state(options, 0);
  if (!state) return std::nullopt;
  return state->id;
}

void ScriptedRunner::close(StateId state) {
  SLIP_CHECK(!is_accept_due_);
  n_blocks_free_ += find(state).n_blocks;
  states_.erase(std::ranges::find(states_, state, &State::id));
  ++counts_.n_closes;
}

std::optional<StateId> ScriptedRunner::fork(StateId state) {
  State* copy = add_state(find(state).options, find(state).n_committed);
  if (!copy) return std::nullopt;
  const State& original = find(state);
  copy->n_committed = original.n_committed;
  copy->tokens.assign(original.tokens.begin(), original.tokens.begin() + original.n_committed);
  copy->hashes.assign(original.hashes.begin(), original.hashes.begin() + original.n_committed + 1);
  return copy->id;
}

bool ScriptedRunner::reserve(StateId state, int32_t n_tokens) {
  SLIP_CHECK(!is_accept_due_);
  SLIP_CHECK(n_tokens >= 0 && n_tokens <= options_.context_tokens_max);
  State& s = find(state);
  const int32_t n_new = std::max(0, blocks_for(n_tokens) - s.n_blocks);
  if (n_new > n_blocks_free_) return false;
  n_blocks_free_ -= n_new;
  s.n_blocks += n_new;
  const auto capacity = static_cast<size_t>(s.n_blocks) * kCacheBlockTokens;
  s.tokens.reserve(capacity);
  s.hashes.reserve(capacity + 1);
  return true;
}

void ScriptedRunner::run_segment(const Segment& segment, std::span<const TokenId> tokens) {
  State& state = find(segment.state);
  SLIP_CHECK(segment.position == state.n_committed);
  SLIP_CHECK(segment.position + segment.n_rows <= state.n_blocks * kCacheBlockTokens);
  state.tokens.resize(static_cast<size_t>(state.n_committed));
  state.hashes.resize(static_cast<size_t>(state.n_committed) + 1);
  for (size_t i = 0; i < tokens.size(); ++i) {
    state.tokens.push_back(tokens[i]);
    state.hashes.push_back(extend(state.hashes.back(), tokens[i]));
    const bool has_logits = static_cast<int32_t>(i) >= segment.n_rows - segment.n_logit_rows();
    if (!has_logits) continue;
    const int32_t position = segment.position + static_cast<int32_t>(i);
    logit_rows_.push_back({.position = position, .hash = state.hashes.back(), .is_off = false});
  }
}

void ScriptedRunner::forward(const Batch& batch) {
  SLIP_CHECK(!is_accept_due_);
  check_batch(batch, info_);
  for (State& state : states_) state.truncate_min = -1;
  batch_ = batch;
  logit_rows_.clear();
  std::span<const TokenId> rest = batch_.tokens;
  for (const Segment& segment : batch_.segments) {
    run_segment(segment, rest.first(static_cast<size_t>(segment.n_rows)));
    rest = rest.subspan(static_cast<size_t>(segment.n_rows));
  }
  is_accept_due_ = true;
  ++counts_.n_forwards;
}

void ScriptedRunner::accept(std::span<const AcceptRequest> requests, std::span<Verdict> verdicts) {
  SLIP_CHECK(is_accept_due_);
  SLIP_CHECK(verdicts.size() == batch_.segments.size());
  is_accept_due_ = false;
  if (++counts_.n_accepts == options_.device_fails_at_accept) {
    throw Error(ErrorCode::kDevice, "scripted device failed in step " +
                                        std::to_string(counts_.n_accepts) + ", as it was told to");
  }
  make_row_queries(batch_, requests, row_queries_);
  size_t row = 0;
  for (size_t i = 0; i < verdicts.size(); ++i) {
    const Segment& segment = batch_.segments[i];
    State& state = find(segment.state);
    const auto n_logit_rows = static_cast<size_t>(segment.n_logit_rows());
    state.truncate_min = segment.position + segment.n_certain;
    verdicts[i] = {};
    if (segment.wants_next) {
      fill_logits(std::span(logit_rows_).subspan(row, n_logit_rows));
      verdicts[i] = slip::accept(sampler_, segment_logits_, row_queries_[row], row_choices_);
    }
    state.n_committed = state.truncate_min + verdicts[i].n_accepted;
    row += n_logit_rows;
  }
}

void ScriptedRunner::truncate(StateId state, int32_t n_tokens) {
  SLIP_CHECK(!is_accept_due_);
  State& s = find(state);
  SLIP_CHECK(s.truncate_min >= 0);
  SLIP_CHECK(n_tokens >= s.truncate_min && n_tokens <= s.n_committed);
  s.n_committed = n_tokens;
  ++counts_.n_truncates;
  counts_.truncated_to = n_tokens;
}

// Runs the chain of one request and returns the row of its last token.
ScriptedRunner::LogitRow ScriptedRunner::draft_row(const State& state,
                                                   const DraftRequest& request) {
  LogitRow row{.position = state.n_committed,
               .hash = state.hashes[static_cast<size_t>(state.n_committed)]};
  TokenId token = request.pending;
  for (DraftChain chain; !chain.is_over; ++row.position) {
    row.hash = extend(row.hash, token);
    row.is_off =
        options_.draft_fails_every > 0 && (row.position + 1) % options_.draft_fails_every == 0;
    fill_logits(row, row_logits_);
    slip::extend(chain, request, state.n_committed, row_logits_, sampler_);
    token = request.out[static_cast<size_t>(chain.n_drafted) - 1];
  }
  --row.position;
  return row;
}

void ScriptedRunner::draft(std::span<const DraftRequest> requests) {
  SLIP_CHECK(!is_accept_due_);
  SLIP_CHECK(!requests.empty() && requests.size() <= states_.size());
  draft_rows_.clear();
  for (const DraftRequest& request : requests) {
    const State& state = find(request.state);
    SLIP_CHECK(state.options.keeps_draft_history);
    SLIP_CHECK(state.n_committed >=
               1);  // the head reads the hidden state of the last committed token
    SLIP_CHECK(index(request.pending) < static_cast<size_t>(options_.vocab_size));
    SLIP_CHECK(!request.out.empty() && request.out.size() <= kDraftTokensMax);
    draft_rows_.push_back(draft_row(state, request));
  }
  ++counts_.n_drafts;
}

std::vector<std::byte> ScriptedRunner::save(StateId state) {
  SLIP_CHECK(!is_accept_due_);
  State& s = find(state);
  s.truncate_min = -1;
  SavedHeader header;
  header.seed = options_.seed;
  header.token_hash = state_info(state).token_hash;
  header.vocab_size = options_.vocab_size;
  header.n_tokens = s.n_committed;
  header.keeps_draft_history = s.options.keeps_draft_history;
  const size_t id_bytes = static_cast<size_t>(s.n_committed) * sizeof(TokenId);
  std::vector<std::byte> bytes(sizeof header + id_bytes);
  std::memcpy(bytes.data(), &header, sizeof header);
  if (id_bytes > 0) std::memcpy(bytes.data() + sizeof header, s.tokens.data(), id_bytes);
  return bytes;
}

std::optional<StateId> ScriptedRunner::load(std::span<const std::byte> bytes) {
  SavedHeader header;
  if (bytes.size() < sizeof header)
    refuse_saved(std::to_string(bytes.size()) + " bytes, less than its header");
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.magic != kSavedMagic) refuse_saved("does not begin with its mark");
  if (header.seed != options_.seed || header.vocab_size != options_.vocab_size)
    refuse_saved("belongs to another model");
  if (header.n_tokens < 0 || header.n_tokens > options_.context_tokens_max) {
    refuse_saved(std::to_string(header.n_tokens) + " tokens, at most " +
                 std::to_string(options_.context_tokens_max));
  }
  if (header.keeps_draft_history != 0 && header.keeps_draft_history != 1)
    refuse_saved("its history flag is no flag");
  if (header.keeps_draft_history == 1 && !options_.has_draft_head)
    refuse_saved("has history of a head that is not here");
  std::vector<TokenId> tokens(static_cast<size_t>(header.n_tokens));
  if (bytes.size() != sizeof header + tokens.size() * sizeof(TokenId))
    refuse_saved("its length contradicts its header");
  if (!tokens.empty())
    std::memcpy(tokens.data(), bytes.data() + sizeof header, tokens.size() * sizeof(TokenId));
  if (hash_tokens(tokens) != header.token_hash)
    refuse_saved("its token ids do not have the hash it states");

  State* state =
      add_state({.keeps_draft_history = header.keeps_draft_history == 1}, header.n_tokens);
  if (!state) return std::nullopt;
  state->n_committed = header.n_tokens;
  state->tokens.assign(tokens.begin(), tokens.end());
  for (const TokenId token : tokens) state->hashes.push_back(extend(state->hashes.back(), token));
  return state->id;
}

StateInfo ScriptedRunner::state_info(StateId state) const {
  const State& s = find(state);
  const auto committed = std::span(s.tokens).first(static_cast<size_t>(s.n_committed));
  return {.n_committed = s.n_committed, .token_hash = hash_tokens(committed), .form_borders = {}};
}

// A head that is off sees every logit one entry too high, so that its choice is never the right
// one.
void ScriptedRunner::fill_logits(const LogitRow& row, std::span<float> logits) const {
  SLIP_CHECK(logits.size() == static_cast<size_t>(options_.vocab_size));
  if (row.position == options_.nan_position) {
    std::ranges::fill(logits, std::numeric_limits<float>::quiet_NaN());
    return;
  }
  for (size_t i = 0; i < logits.size(); ++i) {
    const float unit = static_cast<float>(mix(row.hash + i) >> 40) * 0x1p-24f;
    logits[(i + row.is_off) % logits.size()] = 8.0f * unit - 4.0f;
  }
}

void ScriptedRunner::fill_logits(std::span<const LogitRow> rows) {
  const auto vocab_size = static_cast<size_t>(options_.vocab_size);
  segment_logits_.resize(rows.size() * vocab_size);
  for (size_t i = 0; i < rows.size(); ++i)
    fill_logits(rows[i], std::span(segment_logits_).subspan(i * vocab_size, vocab_size));
}

std::optional<TokenId> ScriptedRunner::choice(const LogitRow& row) const {
  fill_logits(row, row_logits_);
  return argmax(row_logits_);
}

void ScriptedRunner::read_logits(int32_t logit_row, std::span<float> logits) {
  SLIP_CHECK(logit_row >= 0 && static_cast<size_t>(logit_row) < logit_rows_.size());
  fill_logits(logit_rows_[static_cast<size_t>(logit_row)], logits);
}

void ScriptedRunner::read_draft_logits(int32_t request, std::span<float> logits) {
  SLIP_CHECK(request >= 0 && static_cast<size_t>(request) < draft_rows_.size());
  fill_logits(draft_rows_[static_cast<size_t>(request)], logits);
}

TokenId ScriptedRunner::next_token(std::span<const TokenId> tokens) const {
  SLIP_CHECK(!tokens.empty());
  uint64_t hash = mix(options_.seed);
  for (const TokenId token : tokens) hash = extend(hash, token);
  const std::optional<TokenId> next = choice({.position = -2, .hash = hash, .is_off = false});
  SLIP_CHECK(next.has_value());
  return *next;
}

int64_t ScriptedRunner::free_cache_tokens() const {
  return int64_t{n_blocks_free_} * kCacheBlockTokens;
}

}  // namespace slip
