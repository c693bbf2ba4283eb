// One request from prompt tokens to text, on an engine of its own.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "app/drafting.h"
#include "app/model_session.h"
#include "engine/engine.h"

namespace slip {

struct Answer {
  std::string text;                     // without the stop token or stop string
  std::vector<TokenId> tokens;          // with it
  std::vector<TokenLogprobs> logprobs;  // [tokens] where the request asked
  Finish finish;
};

// The request that the options ask for. Throws Error as read_prompt() and resolve_max_tokens() do.
GenerateRequest make_request(const ModelSession& session, const GenerateOptions& options);

// Runs `request` to its end, or until Ctrl-C. Text goes to stdout as it arrives if `is_streamed`.
// Throws Error for a request that the engine refuses, one that ends with an error, and a stdout
// that cannot be written.
Answer answer(const ModelSession& session, const Drafting& drafting, const GenerateRequest& request,
              bool is_streamed);

// The same on `engine`, which runs nothing else. `watch` gets every chunk as it arrives, and what
// text is certain with it.
Answer answer(const ModelSession& session, Engine& engine, const GenerateRequest& request,
              const std::function<void(std::string_view, const TokenChunk&)>& watch);

// `text` to stdout, at once. Throws as flush_stdout() does.
void write_out(std::string_view text);

// Of the answer, once it is finished; 0 where there is nothing to divide by.
double prefill_tokens_per_second(const SequenceStats& stats);
double decode_tokens_per_second(
    const SequenceStats& stats);  // the first token belongs to the prefill
double tokens_per_step(const SequenceStats& stats);

// An object with every source of the chooser and its accepted tokens.
nlohmann::ordered_json accepted_by_source(const Chooser& chooser, const SequenceStats& stats);

}  // namespace slip
