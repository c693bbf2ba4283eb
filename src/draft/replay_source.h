// Drafts from a recording: the continuation that the model is known to give, with errors put in at
// a chosen rate. Makes acceptance, rollback and speed testable at any rate on any weights, random
// ones included.
#pragma once

#include <cstdint>
#include <vector>

#include "draft/draft_source.h"

namespace slip {

struct ReplayOptions {
  double error_rate = 0;   // [0, 1]: chance of each token to be replaced by a wrong one
  uint64_t seed = 0;       // of the errors
  int32_t vocab_size = 2;  // at least 2
};

class ReplaySource : public DraftSource {
 public:
  //   continuation  what followed the first `n_prompt` tokens of the recorded sequence
  ReplaySource(int32_t n_prompt, std::vector<TokenId> continuation, const ReplayOptions& options);

  std::string_view name() const override { return "replay"; }
  bool runs_model() const override { return false; }
  // By position alone, for every sequence the same: nothing before the recording and nothing behind
  // it. Whether a token is wrong, and how, is a function of seed and position.
  void propose(std::span<const DraftQuery> queries, std::span<Draft> drafts) override;
  void observe(const DraftOutcome&) override {}
  void forget(SequenceId) override {}

 private:
  TokenId token_at(int32_t index) const;  // of the continuation

  int32_t n_prompt_;
  std::vector<TokenId> continuation_;
  ReplayOptions options_;
};

}  // namespace slip
