#include "draft/cost_measurement.h"

#include <chrono>

#include <gtest/gtest.h>

#include "backend/testing/scripted_runner.h"

namespace slip {
namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

void wait(double ms) {
  const Clock::time_point begin = Clock::now();
  while (ms_since(begin) < ms) {
  }
}

// Times of a made-up machine, ms.
struct SlowMachine {
  double narrow_ms = 0;         // of a step of up to 4 rows
  double wide_ms = 0;           // of one with more
  double context_ms = 0;        // of each token before a step
  double draft_ms = 0;          // of each drafted token
  double draft_context_ms = 0;  // of each token before it
};

class TimedRunner : public ScriptedRunner {
 public:
  TimedRunner(const SlowMachine& machine, const ScriptedOptions& options)
      : ScriptedRunner(options), machine_(machine) {}

  void forward(const Batch& batch) override {
    wait((batch.n_rows() <= 4 ? machine_.narrow_ms : machine_.wide_ms) +
         machine_.context_ms * batch.segments[0].position);
    ScriptedRunner::forward(batch);
  }
  void draft(std::span<const DraftRequest> requests) override {
    const double context = state_info(requests[0].state).n_committed;
    wait((machine_.draft_ms + context * machine_.draft_context_ms) *
         static_cast<double>(requests[0].out.size()));
    ScriptedRunner::draft(requests);
  }

 private:
  SlowMachine machine_;
};

double width_ms(const CostSurface& surface, int32_t rows) {
  return surface.step_ms({.n_rows = static_cast<double>(rows)});
}

// Neighbours on the machine make steps longer, never five times as long in most of them.
TEST(MeasureCost, SeesAStairAndTheDraftHead) {
  TimedRunner runner({.narrow_ms = 0.2, .wide_ms = 4, .draft_ms = 2}, {});
  const CostSurface surface = measure_cost(runner, 2000);
  EXPECT_TRUE(surface.is_measured());
  EXPECT_LT(width_ms(surface, 4), 2);
  EXPECT_GT(width_ms(surface, 6), 3);
  EXPECT_GE(surface.draft_ms(5, 0), 9.9);
}

TEST(MeasureCost, SeesWhatContextCosts) {
  TimedRunner runner({.narrow_ms = 0.1, .wide_ms = 0.1, .context_ms = 0.004}, {});
  const CostSurface surface = measure_cost(runner, 4000);
  const double rise_ms = surface.step_ms({.context_tokens = 1000}) - surface.step_ms({});
  EXPECT_GT(rise_ms, 2);
  EXPECT_LT(rise_ms, 5 * 4);
}

TEST(MeasureCost, SeesWhatContextCostsTheDraftHead) {
  TimedRunner runner({.narrow_ms = 0.1, .wide_ms = 0.1, .draft_context_ms = 0.002}, {});
  const CostSurface surface = measure_cost(runner, 4000);
  const double rise_ms = surface.draft_ms(1, 1000) - surface.draft_ms(1, 0);
  EXPECT_GT(rise_ms, 1);
  EXPECT_LT(rise_ms, 5 * 2);
}

TEST(MeasureCost, LeavesNothingOpen) {
  ScriptedRunner runner({});
  const int64_t before = runner.free_cache_tokens();
  measure_cost(runner, 200);
  EXPECT_EQ(runner.n_states(), 0);
  EXPECT_EQ(runner.free_cache_tokens(), before);
}

TEST(MeasureCost, FallsBackToThePriorWithoutAState) {
  ScriptedRunner runner({.states_max = 1});
  ASSERT_TRUE(runner.open({}));
  EXPECT_FALSE(measure_cost(runner, 200).is_measured());
  EXPECT_EQ(runner.counts().n_forwards, 0);
}

TEST(MeasureCost, FallsBackToThePriorWithoutRoom) {
  ScriptedRunner runner({.cache_tokens_max = 64});
  EXPECT_FALSE(measure_cost(runner, 200).is_measured());
  EXPECT_EQ(runner.n_states(), 0);
}

TEST(MeasureCost, MeasuresWhatFitsAShortContext) {
  ScriptedRunner runner({.context_tokens_max = 48});
  EXPECT_TRUE(measure_cost(runner, 200).is_measured());
}

TEST(MeasureCost, ManagesWithoutADraftHead) {
  ScriptedRunner runner({.has_draft_head = false});
  EXPECT_TRUE(measure_cost(runner, 200).is_measured());
  EXPECT_EQ(runner.counts().n_drafts, 0);
}

TEST(MeasureCost, FallsBackToThePriorWhereNoStepEndsInTime) {
  TimedRunner runner({.narrow_ms = 40, .wide_ms = 40}, {});
  EXPECT_FALSE(measure_cost(runner, 30).is_measured());
}

TEST(MeasureCost, LeavesOutWhatASlowModelHasNoTimeFor) {
  TimedRunner runner({.narrow_ms = 20, .wide_ms = 20}, {});
  const Clock::time_point begin = Clock::now();
  EXPECT_TRUE(measure_cost(runner, 150).is_measured());
  EXPECT_LT(ms_since(begin), 600);
  EXPECT_LE(runner.counts().n_forwards, 8);
}

TEST(MeasureCost, EndsSoonWhenItIsCancelled) {
  TimedRunner runner({.narrow_ms = 5, .wide_ms = 5}, {});
  measure_cost(runner, 60'000, [&] { return runner.counts().n_forwards >= 3; });
  EXPECT_LE(runner.counts().n_forwards, 5);
  EXPECT_EQ(runner.n_states(), 0);
}

TEST(MeasureCost, RunsEveryWidthOfAFastModel) {
  ScriptedRunner runner({});
  measure_cost(runner, 1000);
  EXPECT_GE(runner.counts().n_forwards, 3 * 10);
  EXPECT_LE(runner.last_batch().n_rows(), kSegmentRowsMax);
}

}  // namespace
}  // namespace slip
