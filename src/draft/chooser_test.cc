#include "draft/chooser.h"

#include <cmath>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "base/testing/allocation_count.h"

namespace slip {
namespace {

// Proposes `n_offered` tokens at most, and remembers what it was asked.
class FakeSource : public DraftSource {
 public:
  FakeSource(bool runs_model, int32_t n_offered, int32_t match_tokens = 0)
      : runs_model_(runs_model), n_offered_(n_offered), match_tokens_(match_tokens) {}

  std::string_view name() const override { return "fake"; }
  bool runs_model() const override { return runs_model_; }
  void propose(std::span<const DraftQuery> queries, std::span<Draft> drafts) override {
    ++n_calls;
    n_queries_asked = static_cast<int32_t>(queries.size());
    for (size_t i = 0; i < queries.size(); ++i) {
      drafts[i].tokens.resize(static_cast<size_t>(std::min(n_offered_, queries[i].n_max)));
      drafts[i].match_tokens = match_tokens_;
      last_reach_min = queries[i].reach_min;
    }
  }
  void observe(const DraftOutcome&) override { ++n_observed; }
  void forget(SequenceId) override { ++n_forgotten; }
  void offer(int32_t n) { n_offered_ = n; }

  int32_t n_calls = 0, n_queries_asked = 0, n_observed = 0, n_forgotten = 0;
  double last_reach_min = -1;

 private:
  bool runs_model_;
  int32_t n_offered_, match_tokens_;
};

// A machine with a straight cost line.
struct Machine {
  double step_ms = 10;  // of one row
  double row_ms = 0.2;  // of each further one
  double draft_ms = 1;  // of a token from the draft head
};

// What measuring that machine gives.
CostSurface measured(const Machine& machine) {
  CostSurface::Figures figures{.draft_token_ms = machine.draft_ms};
  for (size_t i = 0; i < CostSurface::kKnots; ++i)
    figures.step_ms[i] = machine.step_ms + machine.row_ms * (CostSurface::kRows[i] - 1);
  return CostSurface(figures);
}

// One chooser with its sources, and steps whose outcomes the test decides.
struct Bench {
  Bench(std::vector<FakeSource*> fakes, const ChooserOptions& options,
        const Machine& its_machine = {})
      : Bench(fakes, options, its_machine, measured(its_machine)) {}
  Bench(std::vector<FakeSource*> fakes, const ChooserOptions& options, const Machine& its_machine,
        const CostSurface& cost)
      : sources(fakes), machine(its_machine), chooser(own(fakes), options, cost) {}

  static std::vector<std::unique_ptr<DraftSource>> own(const std::vector<FakeSource*>& fakes) {
    return {fakes.begin(), fakes.end()};
  }

  // One step of one sequence per limit; returns the drafts. `n_good[s]` leading tokens of source s
  // survive.
  const std::vector<ChosenDraft>& step(const std::vector<int32_t>& n_good,
                                       const std::vector<int32_t>& limits = {31}) {
    queries.clear();
    for (const int32_t n_max : limits) {
      queries.push_back({.sequence = SequenceId{static_cast<int32_t>(queries.size())},
                         .tokens = text,
                         .n_max = n_max});
    }
    drafts.resize(queries.size());
    chooser.choose(queries, drafts);
    StepCost cost;
    for (size_t i = 0; i < drafts.size(); ++i) {
      const auto n = static_cast<int32_t>(drafts[i].draft.tokens.size());
      cost.n_rows += 1 + n;
      if (n == 0) continue;
      const auto source = static_cast<size_t>(drafts[i].source);
      if (sources[source]->runs_model()) cost.n_drafts_from_model += n;
      chooser.observe(drafts[i], {.sequence = queries[i].sequence,
                                  .n_drafted = n,
                                  .n_accepted = std::min(n, n_good[source])});
    }
    cost.forward_ms = machine.step_ms + machine.row_ms * (cost.n_rows - 1);
    cost.draft_ms = machine.draft_ms * cost.n_drafts_from_model;
    chooser.observe(cost);
    return drafts;
  }
  int32_t step_length(const std::vector<int32_t>& n_good) {
    return static_cast<int32_t>(step(n_good)[0].draft.tokens.size());
  }

  std::vector<FakeSource*> sources;  // the chooser owns them
  Machine machine;
  Chooser chooser;
  std::vector<TokenId> text = {TokenId{1}};
  std::vector<DraftQuery> queries;
  std::vector<ChosenDraft> drafts;
};

FakeSource* copies(int32_t n_offered, int32_t match_tokens) {
  return new FakeSource(false, n_offered, match_tokens);
}
FakeSource* draft_head() { return new FakeSource(true, kDraftTokensMax); }

constexpr ChooserOptions kAdaptive = {};
constexpr Machine kDearRows = {.step_ms = 10, .row_ms = 2, .draft_ms = 1};

TEST(Chooser, TakesTheFirstSourceAtFullLengthWhenNotAdaptive) {
  Bench bench({draft_head(), copies(31, 64)}, {.adaptive = false, .n_tokens_max = 5});
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(bench.step_length({0, 31}), 5);
    ASSERT_EQ(bench.drafts[0].source, 0);
  }
  EXPECT_EQ(bench.sources[1]->n_calls, 0);
}

TEST(Chooser, DraftsNothingWithoutSources) {
  Bench bench({}, kAdaptive);
  EXPECT_EQ(bench.step_length({}), 0);
  EXPECT_EQ(bench.drafts[0].source, -1);
}

TEST(Chooser, LearnsThatALongCopyPays) {
  Bench bench({copies(31, 5)}, kAdaptive, kDearRows);
  ASSERT_LT(bench.step_length({31}), 20);  // cautious at first: five agreeing tokens prove little
  for (int i = 0; i < 50; ++i) bench.step({31});
  EXPECT_EQ(bench.step_length({31}), 31);
}

TEST(Chooser, TrustsALongAgreementFromTheStart) {
  Bench shortly({copies(31, 5)}, kAdaptive, kDearRows);
  Bench long_since({copies(31, 40)}, kAdaptive, kDearRows);
  EXPECT_GT(long_since.step_length({31}), shortly.step_length({31}));
}

TEST(Chooser, LeavesASourceThatAlwaysFailsToRareProbes) {
  for (FakeSource* source : {copies(31, 20), draft_head()}) {
    Bench bench({source}, kAdaptive);
    for (int i = 0; i < 300; ++i) bench.step({0});
    int32_t n_drafted = 0;
    for (int i = 0; i < 1280; ++i) n_drafted += bench.step_length({0});
    EXPECT_GT(n_drafted, 0);
    EXPECT_LE(n_drafted, 10);  // a token every 128 steps
  }
}

TEST(Chooser, ReturnsToASourceThatBeginsToWork) {
  Bench bench({copies(31, 20)}, kAdaptive, kDearRows);
  for (int i = 0; i < 1000; ++i) bench.step({0});
  for (int i = 0; i < 320; ++i) bench.step({31});  // two probe intervals, and some steps to learn
  EXPECT_GT(bench.step_length({31}), 20);
}

// Tokens drafted in 1280 steps by two sources of whose tokens every other one is right, after 300
// steps to learn.
int32_t n_drafted_late(const Machine& machine, const CostSurface& cost) {
  Bench bench({copies(31, 20), draft_head()}, kAdaptive, machine, cost);
  for (int i = 0; i < 300; ++i) bench.step({i % 2, i % 2});
  int32_t n_drafted = 0;
  for (int i = 0; i < 1280; ++i) n_drafted += bench.step_length({i % 2, i % 2});
  return n_drafted;
}

TEST(Chooser, TellsAChainWhichReachIsWorthAnotherToken) {
  Bench bench({draft_head()}, kAdaptive, {.step_ms = 10, .row_ms = 0.2, .draft_ms = 1});
  for (int i = 0; i < 100; ++i) bench.step({31});
  ASSERT_EQ(bench.step_length({31}), 31);
  // A token costs 1.2 ms, in which 32 tokens in 10 + 31 * 1.2 ms would bring this much:
  EXPECT_NEAR(bench.sources[0]->last_reach_min, 1.2 * 32 / 47.2, 0.02);
}

TEST(Chooser, OnlyBridgesWithAChainWhatCheapCopiesLeave) {
  Bench bench({copies(31, 64), draft_head()}, kAdaptive);
  for (int i = 0; i < 100; ++i) {
    bench.sources[0]->offer(i % 4 == 0 ? 0 : 31);
    bench.step({31, 31});
  }
  bench.sources[0]->offer(0);
  EXPECT_EQ(bench.step_length({31, 31}), 4);
  EXPECT_EQ(bench.drafts[0].source, 1);
  for (int i = 0; i < 100; ++i) bench.step({31, 31});  // no copies any more
  EXPECT_EQ(bench.step_length({31, 31}), 31);
}

TEST(Chooser, ProbesWithoutAskingForConfidence) {
  Bench bench({draft_head()}, kAdaptive, {.draft_ms = 5});
  for (int i = 0; i < 300; ++i) bench.step({0});
  int32_t n_steps = 0;
  while (bench.step_length({0}) == 0) ASSERT_LT(++n_steps, 200);  // probes come every 128 steps
  EXPECT_EQ(bench.sources[0]->last_reach_min, 0);
}

TEST(Chooser, CountsAsLostWhatAChainLeftOut) {
  Bench whole({draft_head()}, kAdaptive), cut({new FakeSource(true, 3)}, kAdaptive);
  for (int i = 0; i < 100; ++i) {
    whole.step({3});
    cut.step({3});
  }
  whole.step({3});
  cut.step({3});
  EXPECT_EQ(cut.drafts[0].n_planned, whole.drafts[0].n_planned);
}

TEST(Chooser, DraftsNothingWhereARowCostsAsMuchAsAStep) {
  constexpr Machine kNoSharing = {.step_ms = 10, .row_ms = 10, .draft_ms = 1};
  EXPECT_LE(n_drafted_late(kNoSharing, measured(kNoSharing)), 2 * 10);  // probes
}

TEST(Chooser, FindsOutThatRowsAreDearWithoutAMeasurement) {
  constexpr Machine kNoSharing = {.step_ms = 10, .row_ms = 10, .draft_ms = 1};
  EXPECT_LE(n_drafted_late(kNoSharing, CostSurface()), 2 * 10);
}

TEST(Chooser, BeginsWithPlainStepsWhereNothingWasMeasured) {
  Bench bench({copies(31, 40)}, kAdaptive, {}, CostSurface());
  EXPECT_EQ(bench.step_length({31}), 0);
  EXPECT_EQ(bench.step_length({31}), 0);
  EXPECT_GT(bench.step_length({31}), 0);
}

TEST(Chooser, NeverAsksASourceThatCouldNotDoBetterWereItAlwaysRight) {
  Bench bench({draft_head(), copies(31, 40)}, kAdaptive);
  for (int i = 0; i < 100; ++i) bench.step({31, 31});
  const int32_t n_calls = bench.sources[0]->n_calls;
  for (int i = 0; i < 1280; ++i) bench.step({31, 31});
  EXPECT_EQ(bench.sources[0]->n_calls, n_calls);
}

TEST(Chooser, ProbesASourceThatCouldDoBetter) {
  Bench bench({draft_head(), copies(2, 40)}, kAdaptive, {.draft_ms = 0.1});
  for (int i = 0; i < 300; ++i) bench.step({0, 2});
  const int32_t n_calls = bench.sources[0]->n_calls;
  for (int i = 0; i < 1280; ++i) bench.step({0, 2});
  EXPECT_GE(bench.sources[0]->n_calls - n_calls, 9);  // every 128 steps
}

// Steps of 10 ms up to 4 rows, of 100 from 6 on.
CostSurface::Figures stairs() {
  CostSurface::Figures figures{.draft_token_ms = 0.5};
  figures.step_ms.fill(100);
  std::fill_n(figures.step_ms.begin(), 4, 10.0);
  return figures;
}

TEST(Chooser, StopsAtTheEdgeOfAMeasuredStair) {
  Bench bench({copies(31, 40)}, kAdaptive, {}, CostSurface(stairs()));
  EXPECT_EQ(bench.step_length({31}), 3);
}

TEST(Chooser, DraftsLessWhereContextMakesRowsDear) {
  CostSurface::Figures figures{.context_ms_one_row = 0.001, .context_ms_all_rows = 0.04};
  figures.step_ms.fill(10);
  Bench bench({copies(31, 5)}, kAdaptive, {}, CostSurface(figures));
  const int32_t n_short = bench.step_length({31});
  bench.text.assign(100000, TokenId{1});
  Bench deep({copies(31, 5)}, kAdaptive, {}, CostSurface(figures));
  deep.text = bench.text;
  EXPECT_LT(deep.step_length({31}), n_short);
}

TEST(Chooser, SharesTheCheapRowsOfAStepBetweenSequences) {
  CostSurface::Figures figures{.draft_token_ms = 0.5};
  figures.step_ms.fill(1000);
  std::fill_n(figures.step_ms.begin(), 6, 10.0);  // up to 8 rows
  Bench bench({copies(31, 40)}, kAdaptive, {}, CostSurface(figures));
  const std::vector<ChosenDraft>& drafts = bench.step({31}, {31, 31});
  EXPECT_EQ(drafts[0].draft.tokens.size() + drafts[1].draft.tokens.size(), 6u);
}

TEST(Chooser, RunsTheModelWhereNothingCanBeCopied) {
  Bench bench({copies(0, 0), draft_head()}, kAdaptive);
  for (int i = 0; i < 50; ++i) bench.step({0, 3});
  EXPECT_EQ(bench.step(/*n_good=*/{0, 3})[0].source, 1);
}

// Tokens of a draft of which each survives with chance `p`, per ms.
double tokens_per_ms(const Machine& machine, double p, int32_t n) {
  double n_tokens = 1;
  for (int32_t i = 1; i <= n; ++i) n_tokens += std::pow(p, i);
  return n_tokens / (machine.step_ms + n * (machine.row_ms + machine.draft_ms));
}

// What an imprecise estimate of survival may cost; the curve is flat around its best length.
constexpr double kRateLossMax = 0.08;

TEST(Chooser, FindsALengthWithNearlyTheBestRate) {
  constexpr Machine kMachines[] = {{10, 0.2, 0.2}, {10, 0.2, 1}, {10, 2, 1}};
  for (const Machine& machine : kMachines) {
    for (const double p : {0.5, 0.7, 0.9}) {
      double best = 0;
      for (int32_t n = 0; n <= kDraftTokensMax; ++n)
        best = std::max(best, tokens_per_ms(machine, p, n));
      Bench bench({draft_head()}, kAdaptive, machine);
      double rate = 0;
      for (int32_t i = 0; i < 1200; ++i) {
        int32_t n_good = 0;
        while (n_good < 31 && uniform(9, static_cast<uint64_t>(32 * i + n_good), Draw::kTest) <
                                  static_cast<float>(p)) {
          ++n_good;
        }
        const int32_t n = bench.step_length({n_good});
        if (i >= 200) rate += tokens_per_ms(machine, p, n) / 1000;
      }
      EXPECT_GE(rate, (1 - kRateLossMax) * best)
          << machine.row_ms << " " << machine.draft_ms << " " << p;
    }
  }
}

TEST(Chooser, KeepsToTheLimitOfEveryQuery) {
  const std::vector<int32_t> limits = {1, 7, 31, 2};
  for (const bool adaptive : {true, false}) {
    for (FakeSource* source : {copies(31, 40), draft_head()}) {
      Bench bench({source}, {.adaptive = adaptive, .n_tokens_max = 20}, {.draft_ms = 0.01});
      for (int i = 0; i < 60; ++i) {
        const std::vector<ChosenDraft>& drafts = bench.step({31}, limits);
        for (size_t q = 0; q < limits.size(); ++q) {
          ASSERT_LE(drafts[q].draft.tokens.size(), static_cast<size_t>(std::min(limits[q], 20)));
        }
      }
      EXPECT_EQ(bench.drafts[2].draft.tokens.size(), 20u);  // the limits were what held it
    }
  }
}

TEST(Chooser, RunsTheModelOnceForAllSequences) {
  Bench bench({draft_head()}, kAdaptive);
  bench.step({3}, {31, 31, 31});
  EXPECT_EQ(bench.sources[0]->n_calls, 1);
  EXPECT_EQ(bench.sources[0]->n_queries_asked, 3);
}

TEST(Chooser, TellsOnlyTheSourceThatDrafted) {
  Bench bench({copies(31, 40), copies(0, 0)}, kAdaptive);
  bench.step({31, 31});
  EXPECT_EQ(bench.sources[0]->n_observed, 1);
  EXPECT_EQ(bench.sources[1]->n_observed, 0);
}

TEST(Chooser, ForgetsInEverySource) {
  Bench bench({copies(31, 40), draft_head()}, kAdaptive);
  bench.chooser.forget(SequenceId{3});
  EXPECT_EQ(bench.sources[0]->n_forgotten, 1);
  EXPECT_EQ(bench.sources[1]->n_forgotten, 1);
}

TEST(Chooser, ChoosesTheSameAfterTheSameObservations) {
  Bench a({copies(31, 10), draft_head()}, kAdaptive);
  Bench b({copies(31, 10), draft_head()}, kAdaptive);
  for (int i = 0; i < 400; ++i) {
    const std::vector<int32_t> n_good = {i * 7 % 11, i * 5 % 4};
    ASSERT_EQ(a.step_length(n_good), b.step_length(n_good)) << i;
    ASSERT_EQ(a.drafts[0].source, b.drafts[0].source) << i;
  }
}

TEST(Chooser, SteadyStepsAllocateNothing) {
  Bench bench({copies(31, 10), draft_head()}, kAdaptive);
  std::vector<DraftQuery> queries(4, {.tokens = bench.text, .n_max = 31});
  std::vector<ChosenDraft> drafts(4);
  const auto steps = [&](int n_steps) {
    for (int i = 0; i < n_steps; ++i) {
      bench.chooser.choose(queries, drafts);
      for (const ChosenDraft& draft : drafts) {
        const auto n = static_cast<int32_t>(draft.draft.tokens.size());
        bench.chooser.observe(draft, {.n_drafted = n, .n_accepted = n * (i % 2)});
      }
      bench.chooser.observe(StepCost{.n_rows = 4, .forward_ms = 10});
    }
  };
  for (ChosenDraft& draft : drafts) draft.draft.tokens.reserve(kDraftTokensMax);
  steps(100);
  const int64_t before = test::n_allocations;
  steps(200);
  EXPECT_EQ(test::n_allocations, before);
}

}  // namespace
}  // namespace slip
