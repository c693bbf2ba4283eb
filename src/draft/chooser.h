// Picks source and length of the next draft: the choice that promises the most tokens per
// millisecond. Costs come from observed steps, survival from observed outcomes; "nothing" is one of
// the choices and costs nothing. Its inputs include the clock, which is harmless: a draft changes
// how fast tokens come, never which.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "draft/cost_surface.h"
#include "draft/draft_source.h"
#include "draft/survival.h"

namespace slip {

struct ChooserOptions {
  bool adaptive = true;                    // false: always the first source, always n_tokens_max
  int32_t n_tokens_max = kDraftTokensMax;  // [0, kDraftTokensMax]
};

// A draft together with who made it.
struct ChosenDraft {
  Draft draft;
  int32_t source = -1;    // index into sources(); -1 where the draft is empty
  int32_t n_planned = 0;  // tokens that were asked for
};

class Chooser {
 public:
  //   cost  what steps cost at first; later steps correct it
  Chooser(std::vector<std::unique_ptr<DraftSource>> sources, const ChooserOptions& options,
          const CostSurface& cost = CostSurface());

  // One draft per query, in order, never longer than the query allows. `drafts` keep their capacity
  // between steps. Sources that do not run the model are asked at every step; one that does is
  // asked for what is wanted of it, all sequences in one call.
  void choose(std::span<const DraftQuery> queries, std::span<ChosenDraft> drafts);

  // What became of one draft of the last choose(). Drafts that were not verified are not reported.
  void observe(const ChosenDraft& draft, const DraftOutcome& outcome);
  // The step of the last choose(). Steps that also read a prompt say little of drafts and are best
  // left out; those with more rows than drafts can have are ignored.
  void observe(const StepCost& cost);
  void forget(SequenceId sequence);

  std::span<const std::unique_ptr<DraftSource>> sources() const { return sources_; }

 private:
  static constexpr int32_t kProbeIntervalMin = 16;  // steps
  // At one token a probe, a hopeless source costs 1/128 row a step.
  static constexpr int32_t kProbeIntervalMax = 128;
  static constexpr int32_t kProbeTokens = 1;
  // A chain of the draft head bridges the tokens until another source finds its place again, and
  // four tokens are what the copy source wants for that. Beyond, a token has to be worth what steps
  // have been yielding, or a long dear chain would go on where a cheap copy could take over.
  static constexpr int32_t kBridgeTokens = 4;
  // Of a surface that nobody measured: what drafts cost is judged by the price of doing without.
  static constexpr int32_t kPlainStepsFirst = 2;

  // What is known of one source.
  struct Record {
    Survival survival;
    int32_t n_idle_steps = 0;  // since it was last drafted from
    int32_t probe_interval = kProbeIntervalMin;
    std::vector<Draft> proposals;  // [most queries so far], of this step
  };
  // What one source offers one sequence.
  struct Offer {
    size_t query = 0;
    size_t source = 0;
    int32_t n_max = 0;
    bool runs_model = false;
    Survival::Curve curve{};
  };
  struct Plan {
    int32_t source = -1;
    int32_t n_tokens = 0;
    double n_expected = 0;  // survivors
    double draft_ms = 0;
    double surplus = 0;  // expected survivors beyond what their time would yield
  };

  void grow_scratch(size_t n_queries);
  std::span<const Draft> ask(size_t source, std::span<const DraftQuery> queries);
  void collect_offers();
  void plan_best();
  double planned_rate() const;
  StepShape planned_shape() const;
  std::array<double, kDraftTokensMax + 1> prices_beside(const StepShape& shape, const Plan& own,
                                                        int32_t n_max) const;
  Plan best_plan(const Offer& offer, const Survival::Curve& curve,
                 std::span<const double> row_prices, double tokens_per_ms) const;
  Plan plan_of(size_t query, double tokens_per_ms) const;
  double reach_worth_a_token(size_t query) const;
  double chain_rate(int32_t n_tokens, double tokens_per_ms) const;
  bool could_do_better(const Offer& offer) const;
  void plan_probe(size_t source);
  void draw(size_t source, std::span<ChosenDraft> drafts);

  std::vector<std::unique_ptr<DraftSource>> sources_;
  ChooserOptions options_;
  CostSurface cost_;
  int32_t n_plain_steps_due_ = 0;
  std::vector<Record> records_;  // [sources]
  // Of past steps, the last ones most.
  double past_tokens_ = 0;
  double past_ms_ = 0;

  // Scratch of one step; keeps its capacity.
  std::vector<DraftQuery> queries_;
  std::vector<Offer> offers_;
  std::vector<Plan> plans_;  // [queries]
  double rate_ = 0;          // tokens per ms of these plans
  std::vector<DraftQuery> asked_;
  std::vector<size_t> asked_query_;  // [asked], index into queries_
};

}  // namespace slip
