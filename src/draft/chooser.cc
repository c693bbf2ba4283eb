#include "draft/chooser.h"

#include <algorithm>

#include "base/check.h"

namespace slip {
namespace {

// The rate converges from below, fast; two or three rounds are usual.
constexpr int kPlanRoundsMax = 8;
// The weight of a step after n later ones is (1 - this)^n: about twenty steps count.
constexpr double kPastForgetting = 0.05;

// All but the pending token.
double context_tokens(const DraftQuery& query) {
  return static_cast<double>(query.tokens.size()) - 1;
}

}  // namespace

Chooser::Chooser(std::vector<std::unique_ptr<DraftSource>> sources, const ChooserOptions& options,
                 const CostSurface& cost)
    : sources_(std::move(sources)),
      options_(options),
      cost_(cost),
      n_plain_steps_due_(cost.is_measured() || !options.adaptive ? 0 : kPlainStepsFirst),
      records_(sources_.size()) {
  SLIP_CHECK(options.n_tokens_max >= 0 && options.n_tokens_max <= kDraftTokensMax);
}

void Chooser::choose(std::span<const DraftQuery> queries, std::span<ChosenDraft> drafts) {
  SLIP_CHECK(queries.size() == drafts.size());
  for (ChosenDraft& chosen : drafts) {
    chosen.source = -1;
    chosen.draft.clear();
  }
  queries_.assign(queries.begin(), queries.end());
  for (DraftQuery& query : queries_) query.n_max = std::min(query.n_max, options_.n_tokens_max);
  if (sources_.empty() || queries.empty() || options_.n_tokens_max == 0) return;

  grow_scratch(queries.size());
  if (n_plain_steps_due_ > 0) {
    --n_plain_steps_due_;
    return;
  }
  plans_.assign(queries.size(), {});
  if (options_.adaptive) {
    collect_offers();
    plan_best();
    for (size_t source = 0; source < sources_.size(); ++source) plan_probe(source);
  } else {
    for (size_t i = 0; i < plans_.size(); ++i)
      plans_[i] = {.source = 0, .n_tokens = queries_[i].n_max};
  }
  for (size_t source = 0; source < sources_.size(); ++source) draw(source, drafts);
}

void Chooser::grow_scratch(size_t n_queries) {
  offers_.reserve(n_queries * sources_.size());
  asked_.reserve(n_queries);
  asked_query_.reserve(n_queries);
  for (Record& record : records_) {
    while (record.proposals.size() < n_queries) record.proposals.emplace_back().reserve();
  }
}

std::span<const Draft> Chooser::ask(size_t source, std::span<const DraftQuery> queries) {
  const auto proposals = std::span(records_[source].proposals).first(queries.size());
  for (Draft& draft : proposals) draft.clear();
  sources_[source]->propose(queries, proposals);
  return proposals;
}

void Chooser::collect_offers() {
  offers_.clear();
  for (size_t source = 0; source < sources_.size(); ++source) {
    const Survival& survival = records_[source].survival;
    if (sources_[source]->runs_model()) {
      const Offer offer = {.source = source, .runs_model = true, .curve = survival.curve(0)};
      for (size_t query = 0; query < queries_.size(); ++query) {
        offers_.push_back(offer);
        offers_.back().query = query;
        offers_.back().n_max = queries_[query].n_max;
      }
      continue;
    }
    const std::span<const Draft> proposals = ask(source, queries_);
    for (size_t query = 0; query < queries_.size(); ++query) {
      const auto n_max = static_cast<int32_t>(proposals[query].tokens.size());
      SLIP_CHECK(n_max <= queries_[query].n_max);
      if (n_max == 0) continue;
      offers_.push_back({.query = query,
                         .source = source,
                         .n_max = n_max,
                         .curve = survival.curve(proposals[query].match_tokens)});
    }
  }
}

// The best ratio of tokens to time over all sequences: at a given rate every sequence decides
// beside what the others have planned, and the rate of those decisions is the next one.
// Source: Dinkelbach 1967, "On nonlinear fractional programming".
void Chooser::plan_best() {
  rate_ = planned_rate();
  for (int round = 0; round < kPlanRoundsMax; ++round) {
    for (size_t query = 0; query < plans_.size(); ++query) plans_[query] = plan_of(query, rate_);
    const double better = planned_rate();
    if (better <= rate_) break;
    rate_ = better;
  }
}

StepShape Chooser::planned_shape() const {
  const auto n_queries = static_cast<double>(plans_.size());
  StepShape shape{.n_sequences = n_queries, .n_rows = n_queries};
  for (const Plan& plan : plans_) shape.n_rows += plan.n_tokens;
  for (const DraftQuery& query : queries_) shape.context_tokens += context_tokens(query);
  return shape;
}

double Chooser::planned_rate() const {
  double n_tokens = static_cast<double>(plans_.size()), draft_ms = 0;
  for (const Plan& plan : plans_) {
    n_tokens += plan.n_expected;
    draft_ms += plan.draft_ms;
  }
  return n_tokens / (cost_.step_ms(planned_shape()) + draft_ms);
}

// What k rows cost on top of a step without the plan `own`.
std::array<double, kDraftTokensMax + 1> Chooser::prices_beside(const StepShape& shape,
                                                               const Plan& own,
                                                               int32_t n_max) const {
  std::array<double, kDraftTokensMax + 1> prices;
  StepShape grown = shape;
  grown.n_rows -= own.n_tokens;
  const double without_ms = cost_.step_ms(grown);
  prices[0] = 0;
  for (int32_t n = 1; n <= n_max; ++n) {
    grown.n_rows += 1;
    prices[static_cast<size_t>(n)] = cost_.step_ms(grown) - without_ms;
  }
  return prices;
}

Chooser::Plan Chooser::best_plan(const Offer& offer, const Survival::Curve& curve,
                                 std::span<const double> row_prices, double tokens_per_ms) const {
  Plan best;
  const double context = context_tokens(queries_[offer.query]);
  double n_expected = 0, surplus = 0, ms_before = 0;
  for (int32_t n = 1; n <= offer.n_max; ++n) {
    const auto k = static_cast<size_t>(n);
    n_expected += curve[k];
    const double draft_ms = offer.runs_model ? cost_.draft_ms(n, context) : 0;
    const double ms = row_prices[k] + draft_ms;
    const double otherwise = offer.runs_model ? chain_rate(n, tokens_per_ms) : tokens_per_ms;
    surplus += curve[k] - otherwise * (ms - ms_before);
    ms_before = ms;
    if (surplus <= best.surplus) continue;
    best = {.source = static_cast<int32_t>(offer.source),
            .n_tokens = n,
            .n_expected = n_expected,
            .draft_ms = draft_ms,
            .surplus = surplus};
  }
  return best;
}

// What a millisecond for the n-th token of a chain would yield otherwise.
double Chooser::chain_rate(int32_t n_tokens, double tokens_per_ms) const {
  if (n_tokens <= kBridgeTokens || past_ms_ <= 0) return tokens_per_ms;
  return std::max(tokens_per_ms, past_tokens_ / past_ms_);
}

Chooser::Plan Chooser::plan_of(size_t query, double tokens_per_ms) const {
  const auto prices = prices_beside(planned_shape(), plans_[query], queries_[query].n_max);
  Plan best;
  for (const Offer& offer : offers_) {
    if (offer.query != query) continue;
    const Plan plan = best_plan(offer, offer.curve, prices, tokens_per_ms);
    if (plan.surplus > best.surplus) best = plan;
  }
  return best;
}

// The chance of surviving below which one more token of the planned chain yields less than its time
// is worth.
double Chooser::reach_worth_a_token(size_t query) const {
  const Plan& plan = plans_[query];
  const int32_t n = plan.n_tokens;
  if (n < 2) return 0;
  const double context = context_tokens(queries_[query]);
  const auto prices = prices_beside(planned_shape(), plan, n);
  const double ms = prices[static_cast<size_t>(n)] - prices[1] + cost_.draft_ms(n, context) -
                    cost_.draft_ms(1, context);
  return chain_rate(n, rate_) * ms / (n - 1);
}

// Whether there is anything to find out: with every draft right, it would beat what is planned.
bool Chooser::could_do_better(const Offer& offer) const {
  static constexpr Survival::Curve kAllSurvive = [] {
    Survival::Curve curve;
    curve.fill(1);
    return curve;
  }();
  const Plan& planned = plans_[offer.query];
  const auto prices = prices_beside(planned_shape(), planned, offer.n_max);
  return best_plan(offer, kAllSurvive, prices, rate_).surplus > planned.surplus;
}

void Chooser::plan_probe(size_t source) {
  const auto is_planned = [&](const Plan& plan) {
    return plan.source == static_cast<int32_t>(source);
  };
  const auto offer = std::ranges::find(offers_, source, &Offer::source);
  if (offer == offers_.end()) return;
  Record& record = records_[source];
  if (std::ranges::any_of(plans_, is_planned)) {
    record.n_idle_steps = 0;
    record.probe_interval = kProbeIntervalMin;
    return;
  }
  if (!could_do_better(*offer)) return;
  if (++record.n_idle_steps < record.probe_interval) return;
  record.n_idle_steps = 0;
  record.probe_interval = std::min(2 * record.probe_interval, kProbeIntervalMax);
  record.survival.loosen();
  plans_[offer->query] = {.source = static_cast<int32_t>(source),
                          .n_tokens = std::min(kProbeTokens, offer->n_max)};
}

void Chooser::draw(size_t source, std::span<ChosenDraft> drafts) {
  asked_.clear();
  asked_query_.clear();
  for (size_t query = 0; query < plans_.size(); ++query) {
    if (plans_[query].source != static_cast<int32_t>(source)) continue;
    asked_.push_back(queries_[query]);
    asked_.back().n_max = plans_[query].n_tokens;
    if (options_.adaptive && sources_[source]->runs_model())
      asked_.back().reach_min = reach_worth_a_token(query);
    asked_query_.push_back(query);
  }
  if (asked_.empty()) return;
  const bool is_proposed = options_.adaptive && !sources_[source]->runs_model();
  if (!is_proposed) ask(source, asked_);
  for (size_t i = 0; i < asked_.size(); ++i) {
    const Draft& proposal = records_[source].proposals[is_proposed ? asked_query_[i] : i];
    const auto n = std::min(proposal.tokens.size(), static_cast<size_t>(asked_[i].n_max));
    if (n == 0) continue;
    ChosenDraft& chosen = drafts[asked_query_[i]];
    chosen.source = static_cast<int32_t>(source);
    chosen.n_planned = asked_[i].n_max;
    chosen.draft.take(proposal, n);
  }
}

void Chooser::observe(const ChosenDraft& draft, const DraftOutcome& outcome) {
  if (draft.source < 0) return;
  SLIP_CHECK(outcome.n_accepted <= outcome.n_drafted && outcome.n_drafted <= kDraftTokensMax);
  past_tokens_ += outcome.n_accepted;
  const auto source = static_cast<size_t>(draft.source);
  // Survival is that of drafts as planned: what a chain left out, unsure of it, counts as lost.
  const bool was_verified_whole =
      outcome.n_drafted == static_cast<int32_t>(draft.draft.tokens.size());
  records_[source].survival.observe(draft.draft.match_tokens,
                                    was_verified_whole ? draft.n_planned : outcome.n_drafted,
                                    outcome.n_accepted);
  sources_[source]->observe(outcome);
}

void Chooser::observe(const StepCost& cost) {
  if (cost.n_rows > static_cast<int32_t>(queries_.size()) * kSegmentRowsMax) return;
  cost_.observe(cost);
  past_tokens_ = (1 - kPastForgetting) * past_tokens_ + cost.n_sequences;
  past_ms_ = (1 - kPastForgetting) * past_ms_ + cost.forward_ms + cost.draft_ms;
}

void Chooser::forget(SequenceId sequence) {
  for (const auto& source : sources_) source->forget(sequence);
}

}  // namespace slip
