#include "draft/survival.h"

#include <algorithm>
#include <bit>

namespace slip {
namespace {

// First guesses, on the hopeful side: a wrong hope costs a step or two, and what is never tried is
// never learned: with less hope, short agreements lost to the draft head in every edit, for good. A
// sound draft head is right for 70 to 85 % of the tokens of ordinary text; copies after 16 agreeing
// tokens were for more than 97 % (docs/experiments/2026-11-copy-source.md).
constexpr double kHeadPrior = 0.8;
// Tokens that a guess counts for; for a later position the guess is what the position before it has
// shown.
constexpr double kPriorWeight = 2;
struct Guess {
  double rate = 0;
  double weight = 0;  // tokens
};
// Long agreements come in long spans: a change ends each of them, and the first such end should not
// outweigh what is known of all others.
constexpr Guess kAgreementGuesses[] = {
    {0.6, kPriorWeight}, {0.8, kPriorWeight}, {0.92, kPriorWeight}, {0.98, 20}, {0.99, 20},
    {0.99, 20},          {0.99, 20}};
// A draft's weight after n later ones is (1 - this)^n.
constexpr double kForgetting = 0.06;

size_t bit_width(int32_t n) {
  return static_cast<size_t>(std::bit_width(static_cast<uint32_t>(n)));
}

}  // namespace

size_t Survival::group_of(int32_t match_tokens, int32_t position) {
  if (match_tokens > 0)
    return kPositionGroups + std::clamp<size_t>(bit_width(match_tokens + position), 2, 8) - 2;
  if (position < 4) return static_cast<size_t>(position);
  return std::min<size_t>(bit_width(position) + 1, kPositionGroups - 1);
}

Survival::Survival() {
  evidence_[0] = {.n = kPriorWeight, .n_survived = kPriorWeight * kHeadPrior};
  for (size_t i = 0; i < kAgreementGroups; ++i) {
    const Guess& guess = kAgreementGuesses[i];
    evidence_[kPositionGroups + i] = {.n = guess.weight, .n_survived = guess.weight * guess.rate};
  }
}

void Survival::observe(int32_t match_tokens, int32_t n_drafted, int32_t n_accepted) {
  const int32_t n_judged =
      std::min(n_accepted + 1, n_drafted);  // tokens after a rejection were never judged
  if (n_judged == 0) return;
  // Evidence fades once a draft, not once a token, or the last long draft would be all that is
  // known. Where a draft survived to its end, positions beyond it fade, too: a depth once given up
  // is hoped for again.
  const size_t first = group_of(match_tokens, 0);
  const bool is_open_ended = match_tokens == 0 && n_accepted == n_drafted;
  const size_t last = is_open_ended ? kPositionGroups - 1 : group_of(match_tokens, n_judged - 1);
  for (size_t group = first; group <= last; ++group) {
    evidence_[group].n *= 1 - kForgetting;
    evidence_[group].n_survived *= 1 - kForgetting;
  }
  for (int32_t position = 0; position < n_judged; ++position) {
    Evidence& evidence = evidence_[group_of(match_tokens, position)];
    evidence.n += 1;
    evidence.n_survived += position < n_accepted ? 1 : 0;
  }
}

void Survival::loosen() {
  for (Evidence& evidence : evidence_) {
    if (evidence.n <= kPriorWeight) continue;
    evidence = {.n = evidence.n / 2, .n_survived = evidence.n_survived / 2};
  }
}

Survival::Curve Survival::curve(int32_t match_tokens) const {
  std::array<double, kGroups> rates;
  rates[0] = evidence_[0].n_survived / evidence_[0].n;
  for (size_t group = 1; group < kPositionGroups; ++group) {
    const Evidence& evidence = evidence_[group];
    rates[group] =
        (evidence.n_survived + kPriorWeight * rates[group - 1]) / (evidence.n + kPriorWeight);
  }
  for (size_t group = kPositionGroups; group < kGroups; ++group)
    rates[group] = evidence_[group].n_survived / evidence_[group].n;
  Curve curve;
  curve[0] = 1;
  for (int32_t k = 1; k <= kDraftTokensMax; ++k) {
    curve[static_cast<size_t>(k)] =
        curve[static_cast<size_t>(k - 1)] * rates[group_of(match_tokens, k - 1)];
  }
  return curve;
}

}  // namespace slip
