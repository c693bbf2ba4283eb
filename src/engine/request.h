// What a client asks, and what comes back.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/batch.h"
#include "base/error.h"
#include "base/ids.h"
#include "sample/logprobs.h"
#include "sample/sampling.h"

namespace slip {

struct GenerateRequest {
  std::vector<TokenId> prompt;            // at least one token
  int32_t max_tokens = 0;                 // at least 1; tokens to generate, a stop token included
  std::vector<TokenId> stop_ids;          // any of them ends the answer
  std::vector<std::string> stop_strings;  // likewise, with the token whose text completes one
  SamplingParams sampling;
  Coupling coupling = Coupling::kSeeded;
  uint64_t seed = 0;                  // of everything that is drawn
  std::optional<int32_t> n_logprobs;  // log-probabilities of each token and of this many others,
                                      // [0, kLogprobsMax]; nothing: none
};

enum class FinishReason { kStop, kLength, kCancelled, kError };
std::string_view name(FinishReason reason);  // "stop", "length", "cancelled", "error"

// Of one finished request. Times are wall time of the engine's clock.
struct SequenceStats {
  int32_t prompt_tokens = 0;
  int32_t restored_tokens = 0;    // of the prompt, covered by a kept state
  int32_t completion_tokens = 0;  // a stop token included
  int32_t steps =
      0;  // steps that produced tokens: the one that ended the prompt, and every later one
  int32_t drafted = 0;
  int32_t accepted = 0;                     // drafts that became output; cut ones excluded
  std::vector<int32_t> accepted_by_source;  // [sources of the engine's chooser]
  // By place in the draft, the first one first: how many were verified, and became output.
  std::array<int32_t, kDraftTokensMax> drafted_by_position{};
  std::array<int32_t, kDraftTokensMax> accepted_by_position{};
  double prefill_ms = 0;  // from admission until the first token
  double decode_ms = 0;   // from then on
  double draft_ms = 0;    // of it: choosing and making drafts, in steps shared with neighbours all
  double verify_ms = 0;   // of it: passes over the model and judging drafts, likewise
  int64_t state_bytes = 0;  // of the sequence at its end: state, cache blocks in use
};

struct Finish {
  FinishReason reason = FinishReason::kStop;
  std::optional<ErrorCode> error;  // with kError
  std::string message;             // with kError, one sentence
  SequenceStats stats;
};

// Tokens that one step gave one sequence.
struct TokenChunk {
  SequenceId sequence{};
  std::vector<TokenId> tokens;          // a final stop token included
  std::vector<TokenLogprobs> logprobs;  // [tokens] where the request asked; empty otherwise
  int32_t n_drafted = 0;                // drafts that this step verified
  int32_t n_accepted = 0;               // of them, those among `tokens`
  std::optional<Finish> finish;         // set once, with the last chunk
};

}  // namespace slip
