#include "engine/sequence.h"

#include <algorithm>

#include "backend/split_rule.h"
#include "base/check.h"

namespace slip {
namespace {

// Whether the last token of the sequence ends it.
std::optional<FinishReason> end_reason(const Sequence& sequence) {
  const auto& stops = sequence.stop_ids;
  if (std::ranges::find(stops, sequence.tokens.back()) != stops.end()) return FinishReason::kStop;
  if (sequence.n_remaining() == 0) return FinishReason::kLength;
  return std::nullopt;
}

}  // namespace

Appended append(Sequence& sequence, std::span<const TokenId> accepted,
                std::optional<TokenId> maybe_next) {
  SLIP_CHECK(sequence.n_remaining() >= 1);
  Appended appended;
  const auto add = [&](TokenId token) {
    sequence.tokens.push_back(token);
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
