#include "app/sampling_options.h"

#include <array>
#include <charconv>
#include <limits>
#include <random>

#include "app/option_checks.h"
#include "base/error.h"
#include "base/json.h"

namespace slip {

namespace {

uint64_t random_seed() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

template <class Number>
bool parse_whole(std::string_view text, Number& value) {
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && rest == end;
}

void add_shape_options(CLI::App& command, Shape& shape) {
  command.add_option("--temperature", shape.temperature, "0: always the likeliest token")
      ->check(number(0, 100))
      ->capture_default_str();
  command
      .add_option("--top-p", shape.top_p,
                  "Draw from the likeliest tokens that hold this share of all probability")
      ->check(number(1e-6, 1))
      ->capture_default_str();
  command.add_option("--top-k", shape.top_k, "Draw from this many likeliest tokens; 0: all")
      ->check(whole_number(0, std::numeric_limits<int32_t>::max()))
      ->capture_default_str();
  command
      .add_option("--min-p", shape.min_p,
                  "Draw from tokens at least this share as likely as the likeliest")
      ->check(number(0, 1))
      ->capture_default_str();
}

void add_penalty_options(CLI::App& command, Penalties& penalties) {
  command
      .add_option("--presence-penalty", penalties.presence,
                  "Taken from the logit of every token that the answer has")
      ->check(number(-2, 2))
      ->capture_default_str();
  command
      .add_option("--frequency-penalty", penalties.frequency,
                  "Taken from a token's logit for each time the answer has it")
      ->check(number(-2, 2))
      ->capture_default_str();
  command
      .add_option("--repetition-penalty", penalties.repetition,
                  "Divides the logit of every token that prompt or answer have")
      ->check(number(1e-3, 10))
      ->capture_default_str();
}

}  // namespace

LogitBias parse_logit_bias(const std::string& text) {
  const size_t equals = text.find('=');
  LogitBias entry;
  int32_t id = 0;
  const bool is_good = equals != std::string::npos &&
                       parse_whole(std::string_view(text).substr(0, equals), id) &&
                       parse_whole(std::string_view(text).substr(equals + 1), entry.bias);
  if (!is_good) {
    throw Error(ErrorCode::kInvalidArgument,
                "--logit-bias: found " + quote(text) + ", wanted ID=BIAS, like 42=-100");
  }
  entry.token = TokenId{id};
  return entry;
}

AcceptRule parse_accept_rule(const std::string& text) {
  constexpr std::array kRules = {AcceptRule::kExact, AcceptRule::kBlock, AcceptRule::kTypical,
                                 AcceptRule::kCascade};
  for (const AcceptRule rule : kRules) {
    if (name(rule) == text) return rule;
  }
  throw Error(ErrorCode::kInvalidArgument,
              "--accept: found " + quote(text) + ", wanted one of: exact, block, typical, cascade");
}

void add_sampling_options(CLI::App& command, SamplingOptions& options) {
  add_shape_options(command, options.params.shape);
  add_penalty_options(command, options.params.penalties);
  command
      .add_option_function<std::vector<std::string>>(
          "--logit-bias",
          [&options](const std::vector<std::string>& texts) {
            for (const std::string& text : texts)
              options.params.logit_bias.push_back(parse_logit_bias(text));
          },
          "ID=BIAS, added to the logit of a token, -100 to 100")
      ->take_all()
      ->allow_extra_args(false);  // or the library would split [...] at its commas
  command
      .add_option("--seed", options.seed,
                  "Makes the answer a function of prompt, settings and this number; without it "
                  "answers at a temperature differ every time")
      ->check(seed());
  command
      .add_option_function<std::string>(
          "--accept",
          [&options](const std::string& text) { options.params.rule = parse_accept_rule(text); },
          "How drafts are judged without a seed: exact, block (exact too). Typical and cascade, "
          "with a seed as well, keep more drafts and let them change the answer")
      ->default_str("exact");
  command.add_option("--stop", options.stop_strings, "Text that ends the answer")
      ->take_all()
      ->allow_extra_args(false);
}

CLI::Option* add_logprobs_option(CLI::App& command, SamplingOptions& options) {
  return command
      .add_option("--logprobs", options.n_logprobs,
                  "With --json: log-probabilities of each token and of this many others")
      ->check(whole_number(0, kLogprobsMax));
}

void apply(const SamplingOptions& options, GenerateRequest& request) {
  request.sampling = options.params;
  request.stop_strings = options.stop_strings;
  request.n_logprobs = options.n_logprobs;
  request.seed = options.seed.value_or(random_seed());
  request.coupling = options.seed ? Coupling::kSeeded : Coupling::kRejection;
}

}  // namespace slip
