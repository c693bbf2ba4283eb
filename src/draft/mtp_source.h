// Drafts from the model's own multi-token-prediction head.
#pragma once

#include <vector>

#include "backend/runner.h"
#include "draft/draft_source.h"

namespace slip {

class MtpSource : public DraftSource {
 public:
  // `runner` outlives the source and has a draft head; queried states keep a draft history.
  explicit MtpSource(Runner& runner);

  std::string_view name() const override { return "mtp"; }
  bool runs_model() const override { return true; }
  void propose(std::span<const DraftQuery> queries, std::span<Draft> drafts) override;
  void observe(const DraftOutcome&) override {}
  void forget(SequenceId) override {}

 private:
  Runner& runner_;
  std::vector<DraftRequest> requests_;
  std::vector<int32_t> n_drafted_;  // [requests]
};

}  // namespace slip
