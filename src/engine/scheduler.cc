#include "engine/scheduler.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.h"

namespace slip {
namespace {

void check_limit(const char* name, int32_t value, int32_t min = 1) {
  if (value >= min) return;
  throw Error(ErrorCode::kInvalidArgument, std::string(name) + " is " + std::to_string(value) +
                                               ", wanted at least " + std::to_string(min));
}

std::string price_text(const GenerateRequest& request) {
  return "prompt of " + std::to_string(request.prompt.size()) + " tokens and answer of up to " +
         std::to_string(request.max_tokens) + " tokens";
}

void check_tokens(const GenerateRequest& request, int32_t vocab_size) {
  if (request.prompt.empty())
    throw Error(ErrorCode::kInvalidArgument, "prompt is empty, wanted at least one token");
  if (request.max_tokens < 1) {
    throw Error(ErrorCode::kInvalidArgument,
                "max_tokens is " + std::to_string(request.max_tokens) + ", wanted at least 1");
  }
  for (const TokenId token : request.prompt) {
    if (index(token) < static_cast<size_t>(vocab_size)) continue;
    throw Error(ErrorCode::kInvalidArgument,
                "prompt holds token " + std::to_string(static_cast<int32_t>(token)) +
                    ", wanted ids below " + std::to_string(vocab_size));
  }
}

void check_extras(const GenerateRequest& request, bool has_tokenizer) {
  if (!request.stop_strings.empty() && !has_tokenizer)
    throw Error(ErrorCode::kInvalidArgument, "stop: this engine has no tokenizer, wanted no texts");
  if (request.n_logprobs && (*request.n_logprobs < 0 || *request.n_logprobs > kLogprobsMax)) {
    throw Error(ErrorCode::kInvalidArgument, "logprobs: found " +
                                                 std::to_string(*request.n_logprobs) +
                                                 ", wanted 0 to " + std::to_string(kLogprobsMax));
  }
}

// Greedy on the logits as they are: nothing to draw, nothing to count.
bool is_plain(const SamplingParams& sampling) {
  return sampling.shape.is_greedy() && !sampling.adjusts_logits();
}

}  // namespace

Scheduler::Scheduler(Runner& runner, const EngineLimits& limits, const StateOptions& state_options,
                     size_t n_sources, const Tokenizer* maybe_tokenizer)
    : runner_(runner),
      limits_(limits),
      state_options_(state_options),
      n_sources_(n_sources),
      maybe_tokenizer_(maybe_tokenizer),
      bank_(runner, limits.kept_states_max) {
  check_limit("sequences_max", limits.sequences_max);
  check_limit("queue_max", limits.queue_max);
  check_limit("prompt_rows_max", limits.prompt_rows_max);
  check_limit("kept_states_max", limits.kept_states_max, 0);
  const RunnerInfo& info = runner.info();
  // Every running sequence can then get one row and its logits in every step.
  running_max_ = std::min({limits.sequences_max, info.batch_rows_max, info.logit_rows_max});
}

Scheduler::~Scheduler() {
  for (const Sequence& sequence : running()) runner_.close(*sequence.state);
}

void Scheduler::check_request(const GenerateRequest& request) const {
  const RunnerInfo& info = runner_.info();
  check_tokens(request, info.vocab_size);
  check_sampling(request.sampling, info.vocab_size);
  check_extras(request, maybe_tokenizer_ != nullptr);
  const int64_t price = static_cast<int64_t>(request.prompt.size()) + request.max_tokens;
  if (price > info.context_tokens_max) {
    throw Error(ErrorCode::kInsufficientMemory, price_text(request) + " exceed the context of " +
                                                    std::to_string(info.context_tokens_max) +
                                                    " tokens");
  }
  if (price * info.cache_bytes_per_token > info.cache_bytes) {
    throw Error(ErrorCode::kInsufficientMemory,
                price_text(request) + " exceed the cache of " +
                    std::to_string(info.cache_bytes / info.cache_bytes_per_token) + " tokens");
  }
  const size_t n_waiting = sequences_.size() - n_running_;
  if (n_waiting >= static_cast<size_t>(limits_.queue_max)) {
    throw Error(ErrorCode::kInsufficientMemory, std::to_string(n_waiting) +
                                                    " requests are waiting, at most " +
                                                    std::to_string(limits_.queue_max) + " may");
  }
}

SequenceId Scheduler::submit(GenerateRequest request) {
  check_request(request);
  auto stops = request.stop_strings.empty()
                   ? nullptr
                   : std::make_unique<StopWatch>(*maybe_tokenizer_, request.stop_strings);
  Sequence& sequence = sequences_.emplace_back();
  sequence.maybe_stops = std::move(stops);
  sequence.n_logprobs = request.n_logprobs;
  if (!is_plain(request.sampling))
    sequence.maybe_draws = std::make_unique<SequenceDraws>(request, runner_.info().vocab_size);
  sequence.id = SequenceId{next_id_++};
  sequence.n_prompt = static_cast<int32_t>(request.prompt.size());
  sequence.max_tokens = request.max_tokens;
  sequence.stop_ids = std::move(request.stop_ids);
  sequence.tokens = std::move(request.prompt);
  sequence.stats.accepted_by_source.resize(n_sources_);
  return sequence.id;
}

Sequence* Scheduler::find(SequenceId id) {
  const auto found = std::ranges::find(sequences_, id, &Sequence::id);
  return found == sequences_.end() ? nullptr : &*found;
}

// A kept state that is a begin of the text, or an empty one. Kept states make room for either.
std::optional<StateId> Scheduler::find_state(std::span<const TokenId> tokens) {
  std::optional<StateId> state = bank_.take(tokens);
  while (!state) {
    state = runner_.open(state_options_);
    if (!state && !bank_.drop_oldest()) return std::nullopt;
  }
  return state;
}

// Takes a state and all the room the sequence can ever need, so that no later step can run out.
bool Scheduler::start(Sequence& sequence) {
  const std::optional<StateId> state = find_state(sequence.tokens);
  if (!state) return false;
  const int32_t n_tokens = sequence.n_prompt + sequence.max_tokens;
  while (!runner_.reserve(*state, n_tokens)) {
    if (bank_.drop_oldest()) continue;
    runner_.close(*state);
    return false;
  }
  sequence.state = state;
  sequence.n_committed = runner_.state_info(*state).n_committed;
  sequence.stats.restored_tokens = sequence.n_committed;
  sequence.tokens.reserve(static_cast<size_t>(n_tokens));
  sequence.started = EngineClock::now();
  return true;
}

void Scheduler::admit() {
  while (!is_full_ && n_running_ < static_cast<size_t>(running_max_) &&
         n_running_ < sequences_.size()) {
    is_full_ = !start(sequences_[n_running_]);
    if (!is_full_) ++n_running_;
  }
}

std::span<Sequence> Scheduler::running() { return std::span(sequences_).first(n_running_); }

std::span<const Sequence> Scheduler::running() const {
  return std::span(sequences_).first(n_running_);
}

std::span<Sequence> Scheduler::waiting() { return std::span(sequences_).subspan(n_running_); }

void Scheduler::remove_finished() {
  for (const Sequence& sequence : sequences_) {
    if (!sequence.is_over || !sequence.state) continue;
    if (sequence.is_sound) {
      bank_.put(*sequence.state);
    } else {
      runner_.close(*sequence.state);
    }
    --n_running_;
  }
  const size_t n_removed =
      std::erase_if(sequences_, [](const Sequence& sequence) { return sequence.is_over; });
  if (n_removed > 0) is_full_ = false;
}

}  // namespace slip
