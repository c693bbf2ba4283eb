#include "draft/mtp_source.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace slip {
namespace {

// A draft head that counts up from the pending token, tagged by its state.
class CountingRunner : public Runner {
 public:
  CountingRunner() { info_.has_draft_head = true; }

  void draft(std::span<const DraftRequest> requests) override {
    ++n_draft_calls;
    for (const DraftRequest& request : requests) {
      int32_t next =
          static_cast<int32_t>(request.pending) + 100 * static_cast<int32_t>(request.state);
      const size_t n = std::min(request.out.size(), n_sure);
      for (TokenId& out : request.out.first(n)) out = TokenId{++next};
      if (request.maybe_n_drafted != nullptr) *request.maybe_n_drafted = static_cast<int32_t>(n);
      last_reach_min = request.reach_min;
    }
  }

  const RunnerInfo& info() const override { return info_; }
  std::vector<LaneReport> lanes() const override { return {}; }
  std::optional<StateId> open(const StateOptions&) override { return std::nullopt; }
  void close(StateId) override {}
  std::optional<StateId> fork(StateId) override { return std::nullopt; }
  bool reserve(StateId, int32_t) override { return false; }
  void forward(const Batch&) override {}
  void accept(std::span<const AcceptRequest>, std::span<Verdict>) override {}
  void truncate(StateId, int32_t) override {}
  std::vector<std::byte> save(StateId) override { return {}; }
  std::optional<StateId> load(std::span<const std::byte>) override { return std::nullopt; }
  StateInfo state_info(StateId) const override { return {}; }
  void read_logits(int32_t, std::span<float>) override {}
  void read_draft_logits(int32_t, std::span<float>) override {}

  size_t n_sure = kDraftTokensMax;  // tokens after which its chains end
  int n_draft_calls = 0;
  double last_reach_min = -1;

 private:
  RunnerInfo info_;
};

std::vector<int32_t> values(const Draft& draft) {
  std::vector<int32_t> out;
  for (const TokenId token : draft.tokens) out.push_back(static_cast<int32_t>(token));
  return out;
}

TEST(MtpSource, RunsTheHeadOnceForAllSequences) {
  CountingRunner runner;
  MtpSource source(runner);
  const std::vector<TokenId> a = {TokenId{1}, TokenId{2}};
  const std::vector<TokenId> b = {TokenId{5}};
  const std::vector<DraftQuery> queries = {
      {.sequence = SequenceId{0}, .state = StateId{1}, .tokens = a, .n_max = 3},
      {.sequence = SequenceId{1}, .state = StateId{2}, .tokens = b, .n_max = 1}};
  std::vector<Draft> drafts(2);
  source.propose(queries, drafts);
  EXPECT_EQ(runner.n_draft_calls, 1);
  EXPECT_EQ(values(drafts[0]), (std::vector<int32_t>{103, 104, 105}));
  EXPECT_EQ(values(drafts[1]), (std::vector<int32_t>{206}));
}

TEST(MtpSource, ProposesWhatTheHeadWasSureOf) {
  CountingRunner runner;
  runner.n_sure = 2;
  MtpSource source(runner);
  const std::vector<TokenId> text = {TokenId{1}};
  const SamplingParams warm{.shape = {.temperature = 1}};
  const SequenceSampling sampling{.params = &warm};
  for (const SequenceSampling* maybe_sampling :
       {static_cast<const SequenceSampling*>(nullptr), &sampling}) {
    const DraftQuery query{.tokens = text, .n_max = 5, .maybe_sampling = maybe_sampling};
    Draft draft;
    source.propose({&query, 1}, {&draft, 1});
    EXPECT_EQ(values(draft), (std::vector<int32_t>{2, 3}));
    EXPECT_EQ(draft.laws.size(), maybe_sampling == nullptr ? 0 : 2);
  }
}

TEST(MtpSource, EndsChainsByConfidenceOnlyWhereNothingIsDrawn) {
  CountingRunner runner;
  MtpSource source(runner);
  const std::vector<TokenId> text = {TokenId{1}};
  const auto reach_min = [&](float temperature) {
    const SamplingParams params{.shape = {.temperature = temperature}};
    const SequenceSampling sampling{.params = &params};
    const DraftQuery query{
        .tokens = text, .n_max = 5, .reach_min = 0.5, .maybe_sampling = &sampling};
    Draft draft;
    source.propose({&query, 1}, {&draft, 1});
    return runner.last_reach_min;
  };
  EXPECT_EQ(reach_min(0), 0.5);
  EXPECT_EQ(reach_min(1), 0);
}

TEST(MtpSource, LeavesTheHeadAloneWhenNobodyAsks) {
  CountingRunner runner;
  MtpSource source(runner);
  source.propose({}, {});
  EXPECT_EQ(runner.n_draft_calls, 0);
}

}  // namespace
}  // namespace slip
