#include "sample/sampling.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/enum_table.h"
#include "base/error.h"

namespace slip {
namespace {

struct RuleRow {
  AcceptRule rule;
  std::string_view name;
  bool is_exact;
};

constexpr std::array kRules = {
    RuleRow{AcceptRule::kExact, "exact", true},
    RuleRow{AcceptRule::kBlock, "block", true},
    RuleRow{AcceptRule::kTypical, "typical", false},
    RuleRow{AcceptRule::kCascade, "cascade", false},
};
static_assert(is_in_order(kRules, &RuleRow::rule));

struct Range {
  const char* name;
  float value;
  float min;
  float max;
  bool is_min_excluded = false;
};

// NaN is in no range.
void check_range(const Range& range) {
  const bool is_above = range.is_min_excluded ? range.value > range.min : range.value >= range.min;
  if (is_above && range.value <= range.max) return;
  const auto text = [](float value) {
    std::string digits = std::to_string(value);
    digits.erase(digits.find_last_not_of('0') + 1);
    if (digits.back() == '.') digits.pop_back();
    return digits;
  };
  throw Error(ErrorCode::kInvalidArgument,
              std::string(range.name) + ": found " + text(range.value) + ", wanted " +
                  (range.is_min_excluded ? "more than " : "at least ") + text(range.min) +
                  " and at most " + text(range.max));
}

void check_bias(const std::vector<LogitBias>& biases, int32_t vocab_size) {
  if (biases.size() > kLogitBiasMax) {
    throw Error(ErrorCode::kInvalidArgument, "logit_bias: found " + std::to_string(biases.size()) +
                                                 " tokens, wanted at most " +
                                                 std::to_string(kLogitBiasMax));
  }
  std::vector<TokenId> tokens;
  for (const LogitBias& entry : biases) {
    if (index(entry.token) >= static_cast<size_t>(vocab_size)) {
      throw Error(ErrorCode::kInvalidArgument,
                  "logit_bias: found token " + std::to_string(static_cast<int32_t>(entry.token)) +
                      ", wanted ids below " + std::to_string(vocab_size));
    }
    check_range({.name = "logit_bias", .value = entry.bias, .min = -100, .max = 100});
    tokens.push_back(entry.token);
  }
  std::ranges::sort(tokens);
  const auto twice = std::ranges::adjacent_find(tokens);
  if (twice == tokens.end()) return;
  throw Error(ErrorCode::kInvalidArgument, "logit_bias: found token " +
                                               std::to_string(static_cast<int32_t>(*twice)) +
                                               " twice, wanted it once");
}

}  // namespace

std::string_view name(AcceptRule rule) { return kRules[static_cast<size_t>(rule)].name; }

bool is_exact(AcceptRule rule) { return kRules[static_cast<size_t>(rule)].is_exact; }

void check_sampling(const SamplingParams& params, int32_t vocab_size) {
  const Range ranges[] = {
      {.name = "temperature", .value = params.shape.temperature, .min = 0, .max = 100},
      {.name = "top_p", .value = params.shape.top_p, .min = 0, .max = 1, .is_min_excluded = true},
      {.name = "min_p", .value = params.shape.min_p, .min = 0, .max = 1},
      {.name = "presence_penalty", .value = params.penalties.presence, .min = -2, .max = 2},
      {.name = "frequency_penalty", .value = params.penalties.frequency, .min = -2, .max = 2},
      {.name = "repetition_penalty",
       .value = params.penalties.repetition,
       .min = 0,
       .max = 10,
       .is_min_excluded = true},
  };
  for (const Range& range : ranges) check_range(range);
  if (params.shape.top_k < 0) {
    throw Error(ErrorCode::kInvalidArgument, "top_k: found " + std::to_string(params.shape.top_k) +
                                                 ", wanted 0 (no limit) or more");
  }
  check_bias(params.logit_bias, vocab_size);
}

}  // namespace slip
