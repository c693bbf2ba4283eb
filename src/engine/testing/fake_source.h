// A draft source that knows the answer and errs on purpose, so that a test chooses what
// verification finds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "backend/testing/scripted_runner.h"
#include "draft/draft_source.h"

namespace slip {

struct FakeSourceOptions {
  int32_t n_tokens = 8;     // length of a proposal; 0 proposes nothing
  int32_t wrong_every = 0;  // a draft for position p is wrong where p % n == 0; 0: never, 1: always
};

class FakeSource : public DraftSource {
 public:
  FakeSource(const ScriptedRunner& runner, const FakeSourceOptions& options)
      : runner_(runner), options_(options) {
    text_.reserve(static_cast<size_t>(runner.info().context_tokens_max) + kDraftTokensMax);
  }

  std::string_view name() const override { return "fake"; }
  bool runs_model() const override { return false; }

  void propose(std::span<const DraftQuery> queries, std::span<Draft> drafts) override {
    for (size_t i = 0; i < queries.size(); ++i) {
      text_.assign(queries[i].tokens.begin(), queries[i].tokens.end());
      const int32_t n = std::min(queries[i].n_max, options_.n_tokens);
      for (int32_t k = 0; k < n; ++k) text_.push_back(next());
      drafts[i].tokens.assign(text_.end() - n, text_.end());
    }
  }

  void observe(const DraftOutcome& outcome) override {
    n_drafted += outcome.n_drafted;
    n_accepted += outcome.n_accepted;
  }

  void forget(SequenceId sequence) override { forgotten.push_back(sequence); }

  int32_t n_drafted = 0;
  int32_t n_accepted = 0;
  std::vector<SequenceId> forgotten;

 private:
  TokenId next() const {
    const auto right = static_cast<int32_t>(runner_.next_token(text_));
    const auto position = static_cast<int32_t>(text_.size());
    const bool is_wrong = options_.wrong_every > 0 && position % options_.wrong_every == 0;
    return TokenId{(right + is_wrong) % runner_.info().vocab_size};
  }

  const ScriptedRunner& runner_;
  FakeSourceOptions options_;
  std::vector<TokenId> text_;
};

}  // namespace slip
