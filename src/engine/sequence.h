// The engine's record of one request: its text so far, how much of it has run, and what it cost.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "backend/runner.h"
#include "engine/request.h"
#include "sample/token_counts.h"
#include "text/detokenizer.h"
#include "text/stop_matcher.h"

namespace slip {

using EngineClock = std::chrono::steady_clock;

// How the tokens of a sequence are drawn, at an address that stays.
struct SequenceDraws {
  SequenceDraws(const GenerateRequest& request, int32_t vocab_size);
  SequenceDraws(const SequenceDraws&) = delete;
  SequenceDraws& operator=(const SequenceDraws&) = delete;

  SamplingParams params;
  std::optional<TokenCounts> counts;  // where there are penalties
  SequenceSampling sampling;          // of the two above
};

// Watches the text of an answer for stop strings.
class StopWatch {
 public:
  // Throws as StopMatcher does.
  StopWatch(const Tokenizer& tokenizer, std::vector<std::string> stop_strings);

  // Whether the text of `token` completes a stop string.
  bool ends_with(TokenId token);

 private:
  Detokenizer detokenizer_;
  StopMatcher matcher_;
  std::string passed_;  // what the matcher gives out, which nobody reads
};

struct Sequence {
  SequenceId id{};
  int32_t n_prompt = 0;
  int32_t max_tokens = 0;  // to generate
  std::vector<TokenId> stop_ids;
  std::optional<int32_t> n_logprobs;
  std::unique_ptr<SequenceDraws> maybe_draws;  // null: greedy, on the logits as they are
  std::unique_ptr<StopWatch> maybe_stops;      // null: no stop strings
  std::vector<TokenId>
      tokens;  // prompt and answer so far; room for all of them once the sequence runs
  std::optional<StateId> state;  // while it runs
  int32_t n_committed =
      0;  // leading tokens that the state covers; while it runs, fewer than there are
  bool is_cancelled = false;
  bool is_over = false;  // its finish has been told
  bool is_sound = true;  // false: it ended with an error, and nobody may go on from its state
  SequenceStats stats;
  EngineClock::time_point started;                     // when it was admitted
  std::optional<EngineClock::time_point> first_token;  // when the answer began

  int32_t n_generated() const { return static_cast<int32_t>(tokens.size()) - n_prompt; }
  int32_t n_remaining() const { return max_tokens - n_generated(); }

  // Tokens that are decided and not yet run.
  std::span<const TokenId> known() const {
    return std::span(tokens).subspan(static_cast<size_t>(n_committed));
  }

  const SequenceSampling* maybe_sampling() const {
    return maybe_draws ? &maybe_draws->sampling : nullptr;
  }

  // The answer has begun and one token of it is pending: the place where a draft helps.
  bool is_decoding() const { return n_generated() > 0 && known().size() == 1; }
};

struct Appended {
  int32_t n_tokens = 0;  // of the accepted drafts and the one after them, in order
  std::optional<FinishReason>
      finish;  // kStop or kLength, where the last of these tokens ends the answer
};

// Adds what one step decided: the accepted drafts and then `maybe_next`. Ends exactly at a stop id,
// at the token that completes a stop string, or at max_tokens.
Appended append(Sequence& sequence, std::span<const TokenId> accepted,
                std::optional<TokenId> maybe_next);

// Completes the stats of a sequence that ends at `now`.
void close_stats(Sequence& sequence, EngineClock::time_point now, const RunnerInfo& info);

double ms_between(EngineClock::time_point begin, EngineClock::time_point end);

}  // namespace slip
