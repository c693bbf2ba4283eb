// How the command line says how tokens are drawn.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "engine/request.h"

namespace slip {

struct SamplingOptions {
  SamplingParams params;
  std::optional<uint64_t> seed;  // nothing: another answer every time
  std::vector<std::string> stop_strings;
  std::optional<int32_t> n_logprobs;
};

// Both: `options` outlives the command.
void add_sampling_options(CLI::App& command, SamplingOptions& options);
CLI::Option* add_logprobs_option(CLI::App& command, SamplingOptions& options);

// Sets what `options` say. Where nothing fixes the seed, one is drawn and drafts are judged by
// rejection, which keeps more of them.
void apply(const SamplingOptions& options, GenerateRequest& request);

// ID=BIAS. Throws Error{kInvalidArgument}.
LogitBias parse_logit_bias(const std::string& text);

// Throws Error{kInvalidArgument}.
AcceptRule parse_accept_rule(const std::string& text);

}  // namespace slip
