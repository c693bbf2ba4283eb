#include "engine/sequence.h"

#include <algorithm>
#include <utility>

#include "backend/split_rule.h"
#include "base/check.h"

namespace slip {
namespace {

// Whether the last token of the sequence, which was just added, ends it.
std::optional<FinishReason> end_reason(Sequence& sequence) {
  const auto& stops = sequence.stop_ids;
  const TokenId last = sequence.tokens.back();
  if (std::ranges::find(stops, last) != stops.end()) return FinishReason::kStop;
  if (sequence.maybe_stops && sequence.maybe_stops->ends_with(last)) return FinishReason::kStop;
  if (sequence.n_remaining() == 0) return FinishReason::kLength;
  return std::nullopt;
}

}  // namespace

SequenceDraws::SequenceDraws(const GenerateRequest& request, int32_t vocab_size)
    : params(request.sampling) {
  if (params.penalties.any()) counts.emplace(vocab_size).add_prompt(request.prompt);
  sampling = {.params = &params,
              .maybe_counts = counts ? &*counts : nullptr,
              .seed = request.seed,
              .coupling = request.coupling};
}

StopWatch::StopWatch(const Tokenizer& tokenizer, std::vector<std::string> stop_strings)
    : detokenizer_(tokenizer, /*skip_special=*/true), matcher_(std::move(stop_strings)) {}

bool StopWatch::ends_with(TokenId token) {
  passed_.clear();
  return matcher_.push(detokenizer_.push(token), passed_);
}

Appended append(Sequence& sequence, std::span<const TokenId> accepted,
                std::optional<TokenId> maybe_next) {
  SLIP_CHECK(sequence.n_remaining() >= 1);
  Appended appended;
  const auto add = [&](TokenId token) {
    sequence.tokens.push_back(token);
    if (sequence.maybe_draws && sequence.maybe_draws->counts)
      sequence.maybe_draws->counts->add_answer(token);
    ++appended.n_tokens;
    appended.finish = end_reason(sequence);
  };
  for (const TokenId token : accepted) {
    add(token);
    if (appended.finish) return appended;
  }
  if (maybe_next) add(*maybe_next);
  return appended;
}

void close_stats(Sequence& sequence, EngineClock::time_point now, const RunnerInfo& info) {
  SequenceStats& stats = sequence.stats;
  stats.prompt_tokens = sequence.n_prompt;
  stats.completion_tokens = sequence.n_generated();
  if (!sequence.state) return;  // it never ran
  const EngineClock::time_point first_token = sequence.first_token.value_or(now);
  stats.prefill_ms = ms_between(sequence.started, first_token);
  stats.decode_ms = ms_between(first_token, now);
  const int64_t n_blocks = (sequence.n_committed + kCacheBlockTokens - 1) / kCacheBlockTokens;
  stats.state_bytes = info.state_bytes + n_blocks * kCacheBlockTokens * info.cache_bytes_per_token;
}

double ms_between(EngineClock::time_point begin, EngineClock::time_point end) {
  return std::chrono::duration<double, std::milli>(end - begin).count();
}

}  // namespace slip
