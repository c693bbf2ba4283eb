// A step allocates nothing: verify steps and draft runs on the CPU.

#include <vector>

#include <gtest/gtest.h>

#include "backend/cpu/cpu_runner.h"
#include "backend/testing/random_model.h"
#include "base/testing/allocation_count.h"

namespace slip {
namespace {

// Verifies `n_drafts` tokens and drafts three more, with everything that the caller needs at hand.
class Stepper {
 public:
  Stepper(Runner& runner, int32_t n_drafts, const SequenceSampling* maybe_sampling)
      : runner_(runner), n_drafts_(n_drafts), judged_{.maybe_sampling = maybe_sampling} {
    state_ = *runner.open({.keeps_draft_history = true});
    EXPECT_TRUE(runner.reserve(state_, 4000));
    batch_.tokens.reserve(kSegmentRowsMax);
  }

  void step(int32_t token) {
    batch_.tokens.assign(static_cast<size_t>(n_drafts_) + 1, TokenId{token % 100});
    batch_.segments.assign(
        1, {.state = state_, .position = position_, .n_rows = n_drafts_ + 1, .n_certain = 1});
    runner_.forward(batch_);
    runner_.accept({&judged_, 1}, {&verdict_, 1});
    position_ += 1 + verdict_.n_accepted;
    const DraftRequest request{.state = state_,
                               .pending = verdict_.next,
                               .out = drafted_,
                               .maybe_sampling = judged_.maybe_sampling,
                               .laws = laws_};
    runner_.draft({&request, 1});
  }

 private:
  Runner& runner_;
  int32_t n_drafts_;
  AcceptRequest judged_;
  std::vector<DraftLaw> laws_ = std::vector<DraftLaw>(3);
  StateId state_{};
  Batch batch_;
  Verdict verdict_;
  std::vector<TokenId> drafted_ = std::vector<TokenId>(3);
  int32_t position_ = 0;
};

class SteadySteps : public testing::TestWithParam<AcceptRule> {};

TEST_P(SteadySteps, AllocateNothingOnTheCpu) {
  const SamplingParams params{.shape = {.temperature = 1, .top_k = 9}, .rule = GetParam()};
  const SequenceSampling sampling{.params = &params, .coupling = Coupling::kRejection};
  const RandomModelFolder folder({});
  const ModelFile file = ModelFile::open(folder.path());
  const auto runner = cpu::load_runner(file, {.n_threads = 2, .context_tokens_max = 4096});
  // Three drafts cross no change of split length from any position below 500.
  Stepper greedy(*runner, 3, nullptr);
  Stepper drawn(*runner, 3, &sampling);
  const auto step = [&](int32_t token) {
    greedy.step(token);
    drawn.step(token);
  };
  for (int32_t i = 0; i < 3; ++i) step(i);
  const int64_t before = test::n_allocations;
  ASSERT_GT(before, 0);  // the counter counts
  for (int32_t i = 0; i < 100; ++i) step(7 * i);
  EXPECT_EQ(test::n_allocations, before);
}

INSTANTIATE_TEST_SUITE_P(Rules, SteadySteps,
                         testing::Values(AcceptRule::kExact, AcceptRule::kBlock),
                         [](const auto& rule) { return std::string(name(rule.param)); });

}  // namespace
}  // namespace slip
