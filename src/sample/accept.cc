#include "sample/accept.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace slip {
namespace {

// Typical acceptance: Medusa's own numbers.
constexpr double kTypicalEpsilon = 0.09;
constexpr double kTypicalDelta = 0.3;
// Cascades: a draft this much less likely than the likeliest token goes to the exact test.
constexpr double kCascadeAlpha = 0.5;

bool is_greedy(const SequenceSampling& sampling) { return sampling.params->shape.is_greedy(); }

// Whether a draft is kept if and only if it is the token that the target draws.
bool compares_tokens(const SequenceSampling& sampling) {
  return is_greedy(sampling) ||
         (sampling.coupling == Coupling::kSeeded && is_exact(sampling.params->rule));
}

// Every step of the rejection coupling has noise of its own, so that no number is used twice
// whatever was drafted before and thrown away.
uint64_t seed_of(const RowQuery& query) {
  const SequenceSampling& sampling = *query.maybe_sampling;
  if (compares_tokens(sampling)) return sampling.seed;
  return derived_seed(sampling.seed, static_cast<uint64_t>(query.first_position()), Draw::kStep);
}

ExponentialNoise noise(const RowQuery& query, Draw purpose) {
  return {seed_of(query), static_cast<uint64_t>(query.position), purpose};
}

double coin(const RowQuery& query) {
  return fine_uniform(seed_of(query), static_cast<uint64_t>(query.position), Draw::kAccept);
}

// What the law gives `token`, given that it gave `draft`.
double draft_probability(const DraftLaw* maybe_law, TokenId draft, TokenId token) {
  if (maybe_law == nullptr || maybe_law->n_tokens == 0) return token == draft ? 1 : 0;
  const auto entries = maybe_law->entries();
  const auto found = std::ranges::find(entries, token, &TokenProbability::id);
  return found == entries.end() ? 0 : found->p;
}

RowQuery next_row(const RowQuery& query) {
  RowQuery next = query;
  ++next.position;
  ++next.n_before;
  return next;
}

RowChoice choose_greedy(std::span<const float> logits, const RowQuery& query) {
  const std::optional<TokenId> best = argmax(logits);
  if (!best) return {.is_finite = false};
  return {.keeps_draft = query.draft() == best, .next = *best};
}

// From what the target has and the law has not; from the target itself where that is nothing.
TokenId draw_residual(const Distribution& target, double scale, const RowQuery& query) {
  const std::optional<TokenId> token =
      race(target.tokens(), noise(query, Draw::kToken), [&](const TokenProbability& entry) {
        return residual(entry, scale, query.maybe_law(), *query.draft());
      });
  return token ? *token : target.draw(noise(query, Draw::kToken));
}

}  // namespace

std::optional<TokenId> RowQuery::draft() const {
  const auto i = static_cast<size_t>(n_before);
  return i < drafts.size() ? std::optional(drafts[i]) : std::nullopt;
}

const DraftLaw* RowQuery::maybe_law() const {
  const auto i = static_cast<size_t>(n_before);
  return i < laws.size() ? &laws[i] : nullptr;
}

double residual(const TokenProbability& target, double scale, const DraftLaw* maybe_law,
                TokenId draft) {
  return std::max(scale * target.p - draft_probability(maybe_law, draft, target.id), 0.0);
}

double keep_probability(const Distribution& target, const DraftLaw* maybe_law, TokenId draft,
                        AcceptRule rule) {
  const double p = target.probability(draft);
  const double q = draft_probability(maybe_law, draft, draft);
  const double exact = p >= q ? 1 : p / q;
  switch (rule) {
    case AcceptRule::kExact:
    case AcceptRule::kBlock:
      return exact;
    case AcceptRule::kTypical:
      return p > std::min(kTypicalEpsilon, kTypicalDelta * std::exp(-target.entropy())) ? 1 : 0;
    case AcceptRule::kCascade:
      return p < (1 - kCascadeAlpha) * target.largest() ? exact : 1;
  }
  SLIP_CHECK(false);
}

RowSampler::RowSampler(int32_t vocab_size)
    : logits_(static_cast<size_t>(vocab_size)), distribution_(vocab_size) {}

int64_t RowSampler::memory_bytes(int32_t vocab_size) {
  return vocab_size * static_cast<int64_t>(sizeof(float) + sizeof(TokenProbability));
}

bool RowSampler::assign(std::span<const float> logits, const RowQuery& query, const Shape& shape) {
  const SequenceSampling& sampling = *query.maybe_sampling;
  if (!sampling.params->adjusts_logits()) return distribution_.assign(logits, shape);
  std::ranges::copy(logits, logits_.begin());
  adjust_logits(logits_, *sampling.params, sampling.maybe_counts,
                query.drafts.first(static_cast<size_t>(query.n_before)));
  return distribution_.assign(logits_, shape);
}

RowChoice RowSampler::choose(std::span<const float> logits, const RowQuery& query) {
  if (query.maybe_sampling == nullptr) return choose_greedy(logits, query);
  const SamplingParams& params = *query.maybe_sampling->params;
  if (!assign(logits, query, params.shape)) return {.is_finite = false};
  const std::optional<TokenId> draft = query.draft();
  if (!draft || compares_tokens(*query.maybe_sampling)) {
    const TokenId token = distribution_.draw(noise(query, Draw::kToken));
    return {.keeps_draft = draft == token, .next = token};
  }
  if (coin(query) < keep_probability(distribution_, query.maybe_law(), *draft, params.rule))
    return {.keeps_draft = true, .next = {}};
  // Typical acceptance replaces what it rejects by a token of the target.
  const bool draws_anew = params.rule == AcceptRule::kTypical;
  return {.keeps_draft = false,
          .next = draws_anew ? distribution_.draw(noise(query, Draw::kToken))
                             : draw_residual(distribution_, 1, query)};
}

// Algorithm 2 of the source: c is the weight that the drafts so far carry.
bool RowSampler::climb(std::span<const float> logits, const RowQuery& first, BlockLadder& ladder) {
  const size_t n_drafts = first.drafts.size();
  SLIP_CHECK(n_drafts < BlockLadder::kRungsMax);
  const Shape& shape = first.maybe_sampling->params->shape;
  double c = 1;
  RowQuery query = first;
  for (size_t i = 0; i <= n_drafts; ++i, query = next_row(query)) {
    if (!assign(logits.subspan(i * logits_.size(), logits_.size()), query, shape)) return false;
    ladder.weight[i] = c;
    ladder.keep[i] = i == 0 ? 1 : c;
    if (i == n_drafts) break;
    const TokenId draft = *query.draft();
    double mass = 0;
    for (const TokenProbability& entry : distribution_.tokens())
      mass += residual(entry, c, query.maybe_law(), draft);
    if (i > 0) ladder.keep[i] = mass > 0 ? mass / (mass + 1 - c) : 0;
    const double q = draft_probability(query.maybe_law(), draft, draft);
    const double p = c * distribution_.probability(draft);
    c = p >= q ? 1 : p / q;
  }
  return true;
}

Verdict RowSampler::accept_block(std::span<const float> logits, const RowQuery& first) {
  BlockLadder ladder;
  if (!climb(logits, first, ladder)) return {.is_finite = false};
  RowQuery kept = first;
  RowQuery query = first;
  for (size_t i = 1; i <= first.drafts.size(); ++i) {
    const double test = coin(query);
    query = next_row(query);
    if (test < ladder.keep[i]) kept = query;
  }
  const auto n = static_cast<size_t>(kept.n_before);
  assign(logits.subspan(n * logits_.size(), logits_.size()), kept,
         first.maybe_sampling->params->shape);
  return {.n_accepted = kept.n_before,
          .next = kept.draft() ? draw_residual(distribution_, ladder.weight[n], kept)
                               : distribution_.draw(noise(kept, Draw::kToken))};
}

std::optional<TokenId> RowSampler::draft(std::span<const float> logits, const RowQuery& query,
                                         DraftLaw* maybe_law) {
  if (maybe_law != nullptr) maybe_law->n_tokens = 0;
  if (query.maybe_sampling == nullptr) return argmax(logits);
  const SequenceSampling& sampling = *query.maybe_sampling;
  Shape shape = sampling.params->shape;
  constexpr auto kMax = static_cast<int32_t>(DraftLaw::kTokensMax);
  shape.top_k = shape.top_k > 0 ? std::min(shape.top_k, kMax) : kMax;
  if (!assign(logits, query, shape)) return std::nullopt;
  if (compares_tokens(sampling)) return distribution_.draw(noise(query, Draw::kToken));
  SLIP_CHECK(maybe_law != nullptr);
  const auto tokens = distribution_.tokens();
  std::ranges::copy(tokens, maybe_law->tokens.begin());
  maybe_law->n_tokens = static_cast<int32_t>(tokens.size());
  return distribution_.draw(noise(query, Draw::kDraft));
}

bool judges_blocks(const SequenceSampling* maybe_sampling) {
  return maybe_sampling != nullptr && maybe_sampling->params->rule == AcceptRule::kBlock &&
         !compares_tokens(*maybe_sampling);
}

Verdict accept(std::span<const RowChoice> rows) {
  SLIP_CHECK(!rows.empty());
  size_t n = 0;
  while (n + 1 < rows.size() && rows[n].keeps_draft) ++n;
  return {.n_accepted = static_cast<int>(n), .next = rows[n].next, .is_finite = rows[n].is_finite};
}

Verdict accept(RowSampler& sampler, std::span<const float> logits, const RowQuery& first,
               std::vector<RowChoice>& rows) {
  if (judges_blocks(first.maybe_sampling)) return sampler.accept_block(logits, first);
  const size_t n_rows = first.drafts.size() + 1;
  const size_t vocab_size = logits.size() / n_rows;
  rows.clear();
  RowQuery query = first;
  for (size_t i = 0; i < n_rows; ++i, query = next_row(query))
    rows.push_back(sampler.choose(logits.subspan(i * vocab_size, vocab_size), query));
  return accept(rows);
}

}  // namespace slip
