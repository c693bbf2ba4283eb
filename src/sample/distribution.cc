#include "sample/distribution.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace slip {
namespace {

bool is_likelier(const TokenProbability& a, const TokenProbability& b) {
  return a.p != b.p ? a.p > b.p : a.id < b.id;
}

float penalised(float logit, const Penalties& penalties, int32_t n_in_answer) {
  logit = logit > 0 ? logit / penalties.repetition : logit * penalties.repetition;
  logit -= static_cast<float>(n_in_answer) * penalties.frequency;
  return n_in_answer > 0 ? logit - penalties.presence : logit;
}

}  // namespace

std::optional<TokenId> argmax(std::span<const float> logits) {
  SLIP_CHECK(!logits.empty());
  size_t best = 0;
  bool is_usable = true;
  for (size_t i = 0; i < logits.size(); ++i) {
    // NaN fails every comparison, so it has to be asked for; +inf would win without meaning
    // anything.
    is_usable &= logits[i] < INFINITY;
    if (logits[i] > logits[best]) best = i;
  }
  if (!is_usable || !std::isfinite(logits[best])) return std::nullopt;
  return TokenId{static_cast<int32_t>(best)};
}

double top_probability(std::span<const float> logits) {
  static constexpr float kReach = 20;
  const std::optional<TokenId> best = argmax(logits);
  if (!best) return 0;
  const float largest = logits[index(*best)];
  double total = 0;
  for (const float logit : logits) {
    if (logit > largest - kReach) total += std::exp(static_cast<double>(logit - largest));
  }
  return 1 / total;
}

void adjust_logits(std::span<float> logits, const SamplingParams& params,
                   const TokenCounts* maybe_counts, std::span<const TokenId> drafts) {
  for (const LogitBias& entry : params.logit_bias) logits[index(entry.token)] += entry.bias;
  if (!params.penalties.any()) return;
  SLIP_CHECK(maybe_counts != nullptr);
  const auto penalise = [&](TokenId token, int32_t n_in_answer) {
    float& logit = logits[index(token)];
    logit = penalised(logit, params.penalties, n_in_answer);
  };
  for (const TokenId token : maybe_counts->seen()) {
    if (std::ranges::find(drafts, token) == drafts.end())
      penalise(token, maybe_counts->in_answer(token));
  }
  for (size_t i = 0; i < drafts.size(); ++i) {
    const auto before = drafts.first(i);
    if (std::ranges::find(before, drafts[i]) != before.end()) continue;
    const auto n_drafts = static_cast<int32_t>(std::ranges::count(drafts, drafts[i]));
    penalise(drafts[i], maybe_counts->in_answer(drafts[i]) + n_drafts);
  }
}

Distribution::Distribution(int32_t vocab_size) : entries_(static_cast<size_t>(vocab_size)) {}

bool Distribution::assign(std::span<const float> logits, const Shape& shape) {
  SLIP_CHECK(logits.size() == entries_.size());
  n_ = 0;
  is_by_id_ = false;
  const std::optional<TokenId> best = argmax(logits);
  if (!best) return false;
  if (shape.is_greedy()) {
    entries_[0] = {.id = *best, .p = 1};
    n_ = 1;
    return true;
  }
  const double largest = logits[index(*best)];
  double total = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    const double weight = std::exp((logits[i] - largest) / shape.temperature);
    entries_[i] = {.id = TokenId{static_cast<int32_t>(i)}, .p = weight};
    total += weight;
  }
  n_ = entries_.size();
  is_by_id_ = !shape.truncates();
  if (shape.truncates()) truncate(total, shape);
  double kept = 0;
  for (const TokenProbability& token : tokens()) kept += token.p;
  for (size_t i = 0; i < n_; ++i) entries_[i].p /= kept;
  return true;
}

// Moves the likeliest tokens to the front, enough of them that a limit falls among them, so that
// the whole vocabulary is never sorted. Returns how many.
//   wanted  weight of tokens before which the last one is kept
size_t Distribution::gather_candidates(double wanted, const Shape& shape) {
  size_t n = 0;
  for (const double cut : {0x1p-6, 0x1p-12, 0x1p-24, 0.0}) {
    const auto rest = std::partition(entries_.begin(), entries_.end(),
                                     [&](const TokenProbability& t) { return t.p >= cut; });
    n = static_cast<size_t>(rest - entries_.begin());
    double mass = 0;
    for (size_t i = 0; i < n; ++i) mass += entries_[i].p;
    const bool has_limit = (shape.top_k > 0 && n >= static_cast<size_t>(shape.top_k)) ||
                           mass >= wanted || shape.min_p >= cut;
    if (has_limit) break;
  }
  return n;
}

// Weights are relative to the likeliest token's, which is 1.
void Distribution::truncate(double total, const Shape& shape) {
  // All mass is never reached by adding, which rounds.
  const double wanted = shape.top_p < 1 ? shape.top_p * total : INFINITY;
  const size_t n_candidates = gather_candidates(wanted, shape);
  const size_t n_max =
      shape.top_k > 0 ? std::min(n_candidates, static_cast<size_t>(shape.top_k)) : n_candidates;
  const auto begin = entries_.begin();
  std::partial_sort(begin, begin + static_cast<ptrdiff_t>(n_max),
                    begin + static_cast<ptrdiff_t>(n_candidates), is_likelier);
  double before = 0;
  n_ = 0;
  while (n_ < n_max && before < wanted && entries_[n_].p >= shape.min_p) before += entries_[n_++].p;
}

double Distribution::probability(TokenId token) const {
  if (n_ == 0) return 0;
  if (is_by_id_) return entries_[index(token)].p;
  const auto found = std::ranges::find(tokens(), token, &TokenProbability::id);
  return found == tokens().end() ? 0 : found->p;
}

double Distribution::largest() const {
  return n_ == 0 ? 0 : std::ranges::max(tokens(), {}, &TokenProbability::p).p;
}

double Distribution::entropy() const {
  double sum = 0;
  for (const TokenProbability& token : tokens()) {
    if (token.p > 0) sum -= token.p * std::log(token.p);
  }
  return sum;
}

TokenId Distribution::draw(const ExponentialNoise& noise) const {
  const std::optional<TokenId> winner =
      race(tokens(), noise, [](const TokenProbability& token) { return token.p; });
  SLIP_CHECK(winner.has_value());
  return *winner;
}

}  // namespace slip
