#include "draft/mtp_source.h"

#include "base/check.h"

namespace slip {

MtpSource::MtpSource(Runner& runner) : runner_(runner) { SLIP_CHECK(runner.info().has_draft_head); }

void MtpSource::propose(std::span<const DraftQuery> queries, std::span<Draft> drafts) {
  SLIP_CHECK(queries.size() == drafts.size());
  if (queries.empty()) return;
  requests_.clear();
  for (size_t i = 0; i < queries.size(); ++i) {
    std::vector<TokenId>& tokens = drafts[i].tokens;
    tokens.resize(static_cast<size_t>(queries[i].n_max));
    if (queries[i].maybe_sampling != nullptr) drafts[i].laws.resize(tokens.size());
    requests_.push_back({.state = queries[i].state,
                         .pending = queries[i].tokens.back(),
                         .out = tokens,
                         .maybe_sampling = queries[i].maybe_sampling,
                         .laws = drafts[i].laws});
  }
  runner_.draft(requests_);
}

}  // namespace slip
