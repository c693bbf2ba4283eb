#include "engine/engine.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/log.h"

namespace slip {
namespace {

BatchLimits batch_limits(const RunnerInfo& info, const EngineLimits& limits) {
  return {.batch_rows_max = info.batch_rows_max,
          .logit_rows_max = info.logit_rows_max,
          .prompt_rows_max = limits.prompt_rows_max,
          .context_tokens_max = info.context_tokens_max,
          .n_splits = info.n_splits};
}

// A step whose every row verifies: the kind that drafts can make cheaper or dearer.
bool reads_no_prompt(const Batch& batch) {
  return std::ranges::all_of(batch.segments,
                             [](const Segment& s) { return s.n_certain == 1 && s.wants_next; });
}

std::span<const TokenId> tokens_of(const ChosenDraft* maybe_draft) {
  if (!maybe_draft) return {};
  return maybe_draft->draft.tokens;
}

std::span<const DraftLaw> laws_of(const ChosenDraft* maybe_draft) {
  if (!maybe_draft) return {};
  return maybe_draft->draft.laws;
}

}  // namespace

Engine::Engine(Runner& runner, Chooser& chooser, const EngineLimits& limits,
               bool keeps_draft_history, const Tokenizer* maybe_tokenizer)
    : runner_(runner),
      chooser_(chooser),
      batch_limits_(batch_limits(runner.info(), limits)),
      scheduler_(runner, limits, {.keeps_draft_history = keeps_draft_history},
                 chooser.sources().size(), maybe_tokenizer),
      logits_(static_cast<size_t>(runner.info().vocab_size)) {}

SequenceId Engine::submit(GenerateRequest request) { return scheduler_.submit(std::move(request)); }

void Engine::cancel(SequenceId sequence) {
  if (Sequence* found = scheduler_.find(sequence)) found->is_cancelled = true;
}

bool Engine::idle() const { return scheduler_.empty(); }

std::optional<PromptProgress> Engine::progress() const {
  for (const Sequence& s : scheduler_.running()) {
    if (s.n_generated() == 0)
      return PromptProgress{.n_read = s.n_committed, .n_prompt = s.n_prompt};
  }
  return std::nullopt;
}

std::span<const TokenChunk> Engine::step() {
  chunks_.clear();
  end_cancelled();
  admit();
  if (scheduler_.running().empty()) return chunks_.chunks();
  try {
    draft();
    build();
    forward_and_accept();
  } catch (const Error& error) {
    end_all(error);
    return chunks_.chunks();
  }
  append_all();
  return chunks_.chunks();
}

void Engine::end_cancelled() {
  const auto end_in = [&](std::span<Sequence> sequences) {
    for (Sequence& sequence : sequences) {
      if (sequence.is_cancelled) end(sequence, chunks_.add(sequence.id), FinishReason::kCancelled);
    }
  };
  end_in(scheduler_.running());
  end_in(scheduler_.waiting());
  scheduler_.remove_finished();
}

void Engine::admit() {
  scheduler_.admit();
  // Where nothing runs, nothing will free room: a request that finds none now never will.
  while (scheduler_.running().empty() && !scheduler_.waiting().empty()) {
    Sequence& first = scheduler_.waiting().front();
    end_with_error(first, chunks_.add(first.id), ErrorCode::kInsufficientMemory,
                   "the runner has no state and room for " +
                       std::to_string(first.n_prompt + first.max_tokens) +
                       " tokens though nothing else runs; it was planned for " +
                       std::to_string(runner_.info().states_max) + " states");
    scheduler_.remove_finished();
    scheduler_.admit();
  }
}

void Engine::draft() {
  const std::span<Sequence> running = scheduler_.running();
  queries_.clear();
  for (const Sequence& s : running) {
    if (!s.is_decoding()) continue;
    const int32_t n_max = draft_tokens_max(s.n_committed, 1, s.n_remaining(), batch_limits_);
    if (n_max == 0) continue;
    queries_.push_back({.sequence = s.id,
                        .state = *s.state,
                        .tokens = s.tokens,
                        .n_max = n_max,
                        .maybe_sampling = s.maybe_sampling()});
  }
  while (drafts_.size() < queries_.size()) drafts_.emplace_back().draft.reserve();

  const EngineClock::time_point begin = EngineClock::now();
  if (!queries_.empty()) chooser_.choose(queries_, std::span(drafts_).first(queries_.size()));
  cost_ = {.draft_ms = ms_between(begin, EngineClock::now())};

  draft_of_.assign(running.size(), nullptr);
  for (size_t i = 0, query = 0; i < running.size() && query < queries_.size(); ++i) {
    if (queries_[query].sequence == running[i].id) draft_of_[i] = &drafts_[query++];
  }
}

void Engine::build() {
  const std::span<Sequence> running = scheduler_.running();
  rows_.clear();
  for (size_t i = 0; i < running.size(); ++i) {
    const Sequence& s = running[i];
    rows_.push_back({.state = *s.state,
                     .position = s.n_committed,
                     .known = s.known(),
                     .draft = tokens_of(draft_of_[i]),
                     .n_remaining = s.n_remaining()});
  }
  build_batch(rows_, batch_limits_, plan_);
}

void Engine::forward_and_accept() {
  verdicts_.assign(plan_.batch.segments.size(), Verdict{});
  requests_.clear();
  const std::span<Sequence> running = scheduler_.running();
  for (size_t i = 0; i < running.size(); ++i) {
    if (plan_.shares[i].n_certain == 0) continue;
    requests_.push_back(
        {.maybe_sampling = running[i].maybe_sampling(), .laws = laws_of(draft_of_[i])});
  }
  const EngineClock::time_point begin = EngineClock::now();
  runner_.forward(plan_.batch);
  runner_.accept(requests_, verdicts_);
  cost_.forward_ms = ms_between(begin, EngineClock::now());
  cost_.n_sequences = static_cast<int32_t>(plan_.batch.segments.size());
  cost_.n_rows = plan_.batch.n_rows();
  for (const Segment& segment : plan_.batch.segments) cost_.context_tokens += segment.position;
  if (reads_no_prompt(plan_.batch)) report_cost();
}

// Prompt rows cost differently, so only pure decoding steps teach the cost model.
void Engine::report_cost() {
  for (const ChosenDraft& chosen : std::span(drafts_).first(queries_.size())) {
    if (chosen.source < 0 || !chooser_.sources()[static_cast<size_t>(chosen.source)]->runs_model())
      continue;
    cost_.n_drafts_from_model += static_cast<int32_t>(chosen.draft.tokens.size());
  }
  chooser_.observe(cost_);
}

void Engine::append_all() {
  const std::span<Sequence> running = scheduler_.running();
  size_t i_segment = 0;
  int32_t logit_row = 0;
  for (size_t i = 0; i < running.size(); ++i) {
    if (plan_.shares[i].n_certain == 0) continue;
    const Segment& segment = plan_.batch.segments[i_segment];
    if (segment.wants_next) {
      TokenChunk& chunk = chunks_.add(running[i].id);
      append_one(running[i], segment, verdicts_[i_segment], draft_of_[i], chunk);
      add_logprobs(running[i], logit_row, chunk);
    } else {
      running[i].n_committed = segment.position + segment.n_certain;
    }
    logit_row += segment.n_logit_rows();
    ++i_segment;
  }
  SLIP_CHECK(i_segment == verdicts_.size());
  scheduler_.remove_finished();
}

void Engine::append_one(Sequence& sequence, const Segment& segment, const Verdict& verdict,
                        const ChosenDraft* maybe_draft, TokenChunk& chunk) {
  sequence.n_committed = segment.position + segment.n_certain + verdict.n_accepted;
  if (sequence.first_token) {
    sequence.stats.draft_ms += cost_.draft_ms;
    sequence.stats.verify_ms += cost_.forward_ms;
  }
  const auto accepted = tokens_of(maybe_draft).first(static_cast<size_t>(verdict.n_accepted));
  const Appended appended =
      append(sequence, accepted, verdict.is_finite ? std::optional(verdict.next) : std::nullopt);
  if (segment.n_drafts() > 0) {
    chunk.n_drafted = segment.n_drafts();
    chunk.n_accepted = std::min(appended.n_tokens, verdict.n_accepted);
    count_drafts(sequence, verdict, *maybe_draft, chunk);
  }
  const auto n_tokens = static_cast<int32_t>(sequence.tokens.size());
  if (n_tokens < sequence.n_committed) {
    runner_.truncate(*sequence.state, n_tokens);  // a stop inside the accepted run
    sequence.n_committed = n_tokens;
  }

  if (appended.n_tokens > 0) {
    chunk.tokens.assign(sequence.tokens.end() - appended.n_tokens, sequence.tokens.end());
    ++sequence.stats.steps;
    if (!sequence.first_token) sequence.first_token = EngineClock::now();
  }
  if (appended.finish) {
    end(sequence, chunk, *appended.finish);
  } else if (!verdict.is_finite) {
    end_with_error(sequence, chunk, ErrorCode::kNonFiniteLogits,
                   "the logits at position " + std::to_string(sequence.n_committed - 1) +
                       " have no finite maximum, so no token can follow");
  }
}

// Row i of a segment's logits chose its i-th new token.
void Engine::add_logprobs(const Sequence& sequence, int32_t logit_row, TokenChunk& chunk) {
  if (!sequence.n_logprobs) return;
  for (const TokenId token : chunk.tokens) {
    runner_.read_logits(logit_row++, logits_);
    chunk.logprobs.push_back(logprobs_of(logits_, token, *sequence.n_logprobs));
  }
}

// The chunk says how many became output; a stop may have cut the other accepted ones.
void Engine::count_drafts(Sequence& sequence, const Verdict& verdict, const ChosenDraft& draft,
                          const TokenChunk& chunk) {
  sequence.stats.drafted += chunk.n_drafted;
  sequence.stats.accepted += chunk.n_accepted;
  sequence.stats.accepted_by_source[static_cast<size_t>(draft.source)] += chunk.n_accepted;
  for (size_t i = 0; i < static_cast<size_t>(chunk.n_drafted); ++i) {
    ++sequence.stats.drafted_by_position[i];
    if (i < static_cast<size_t>(chunk.n_accepted)) ++sequence.stats.accepted_by_position[i];
  }
  chooser_.observe(
      draft,
      {.sequence = sequence.id, .n_drafted = chunk.n_drafted, .n_accepted = verdict.n_accepted});
}

void Engine::end_all(const Error& error) {
  log::error("step failed, {} running sequences end: {}", scheduler_.running().size(),
             error.what());
  for (Sequence& sequence : scheduler_.running()) {
    end_with_error(sequence, chunks_.add(sequence.id), error.code(), error.what());
  }
  scheduler_.remove_finished();
}

void Engine::end(Sequence& sequence, TokenChunk& chunk, FinishReason reason) {
  SLIP_CHECK(!sequence.is_over);
  sequence.is_over = true;
  chooser_.forget(sequence.id);
  close_stats(sequence, EngineClock::now(), runner_.info());
  chunk.finish = Finish{
      .reason = reason, .error = std::nullopt, .message = {}, .stats = std::move(sequence.stats)};
}

void Engine::end_with_error(Sequence& sequence, TokenChunk& chunk, ErrorCode code,
                            const std::string& message) {
  sequence.is_sound = false;
  end(sequence, chunk, FinishReason::kError);
  chunk.finish->error = code;
  chunk.finish->message = message;
}

}  // namespace slip
