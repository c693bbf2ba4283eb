#include "draft/survival.h"

#include <algorithm>
#include <bit>
#include <span>

namespace slip {
namespace {

// First guesses for the first token, on the hopeful side: a wrong hope costs a step or two, and
// what is never tried is never learned. A sound draft head is right for 70 to 85 % of the tokens of
// ordinary text, a copy after 16 agreeing tokens for more than 97 %
// (docs/experiments/2026-11-copy-source.md).
constexpr double kFirstTokenPrior[] = {0.8, 0.5, 0.5, 0.7, 0.97};
// Outcomes that a guess counts for; for a later position the guess is what the position before it
// has shown.
constexpr double kPriorWeight = 2;
// A draft's weight after n later ones is (1 - this)^n.
constexpr double kForgetting = 0.06;

}  // namespace

size_t Survival::bucket_of(int32_t match_tokens) {
  if (match_tokens <= 0) return 0;
  return std::clamp<size_t>(
             static_cast<size_t>(std::bit_width(static_cast<uint32_t>(match_tokens))), 2, 5) -
         1;
}

size_t Survival::group_of(int32_t position) {
  if (position < 4) return static_cast<size_t>(position);
  return std::min<size_t>(static_cast<size_t>(std::bit_width(static_cast<uint32_t>(position))) + 1,
                          6);
}

Survival::Survival() {
  for (size_t bucket = 0; bucket < kBuckets; ++bucket) {
    evidence_[bucket][0] = {.n = kPriorWeight,
                            .n_survived = kPriorWeight * kFirstTokenPrior[bucket]};
  }
}

void Survival::observe(int32_t match_tokens, int32_t n_drafted, int32_t n_accepted) {
  auto& groups = evidence_[bucket_of(match_tokens)];
  const int32_t n_judged =
      std::min(n_accepted + 1, n_drafted);  // tokens after a rejection were never judged
  if (n_judged == 0) return;
  // Evidence fades once a draft, not once a token, or the last long draft would be all that is
  // known. Where a draft survived to its end, what lies beyond fades, too: a length once given up
  // is hoped for again.
  const size_t n_fading = n_accepted == n_drafted ? kPositionGroups : group_of(n_judged - 1) + 1;
  for (Evidence& evidence : std::span(groups).first(n_fading)) {
    evidence.n *= 1 - kForgetting;
    evidence.n_survived *= 1 - kForgetting;
  }
  for (int32_t position = 0; position < n_judged; ++position) {
    Evidence& evidence = groups[group_of(position)];
    evidence.n += 1;
    evidence.n_survived += position < n_accepted ? 1 : 0;
  }
}

void Survival::loosen() {
  for (auto& groups : evidence_) {
    for (Evidence& evidence : groups) {
      if (evidence.n <= kPriorWeight) continue;
      evidence = {.n = evidence.n / 2, .n_survived = evidence.n_survived / 2};
    }
  }
}

Survival::Curve Survival::curve(int32_t match_tokens) const {
  const auto& groups = evidence_[bucket_of(match_tokens)];
  std::array<double, kPositionGroups> rates;
  rates[0] = groups[0].n_survived / groups[0].n;
  for (size_t group = 1; group < kPositionGroups; ++group) {
    const Evidence& evidence = groups[group];
    rates[group] =
        (evidence.n_survived + kPriorWeight * rates[group - 1]) / (evidence.n + kPriorWeight);
  }
  Curve curve;
  curve[0] = 1;
  for (int32_t k = 1; k <= kDraftTokensMax; ++k) {
    curve[static_cast<size_t>(k)] = curve[static_cast<size_t>(k - 1)] * rates[group_of(k - 1)];
  }
  return curve;
}

}  // namespace slip
