#include "engine/scheduler.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.h"

namespace slip {
namespace {

void check_limit(const char* name, int32_t value) {
  if (value >= 1) return;
  throw Error(ErrorCode::kInvalidArgument,
              std::string(name) + " is " + std::to_string(value) + ", wanted at least 1");
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

}  // namespace

Scheduler::Scheduler(Runner& runner, const EngineLimits& limits, const StateOptions& state_options,
                     size_t n_sources)
    : runner_(runner), limits_(limits), state_options_(state_options), n_sources_(n_sources) {
  check_limit("sequences_max", limits.sequences_max);
  check_limit("queue_max", limits.queue_max);
  check_limit("prompt_rows_max", limits.prompt_rows_max);
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
  Sequence& sequence = sequences_.emplace_back();
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

// Takes a state and all the room the sequence can ever need, so that no later step can run out.
bool Scheduler::start(Sequence& sequence) {
  const std::optional<StateId> state = runner_.open(state_options_);
  if (!state) return false;
  const int32_t n_tokens = sequence.n_prompt + sequence.max_tokens;
  if (!runner_.reserve(*state, n_tokens)) {
    runner_.close(*state);
    return false;
  }
  sequence.state = state;
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

std::span<Sequence> Scheduler::waiting() { return std::span(sequences_).subspan(n_running_); }

void Scheduler::remove_finished() {
  for (const Sequence& sequence : sequences_) {
    if (!sequence.is_over || !sequence.state) continue;
    runner_.close(*sequence.state);
    --n_running_;
  }
  const size_t n_removed =
      std::erase_if(sequences_, [](const Sequence& sequence) { return sequence.is_over; });
  if (n_removed > 0) is_full_ = false;
}

}  // namespace slip
