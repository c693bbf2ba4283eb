#include "draft/mtp_source.h"

#include "base/check.h"

namespace slip {

MtpSource::MtpSource(Runner& runner) : runner_(runner) { SLIP_CHECK(runner.info().has_draft_head); }

void MtpSource::propose(std::span<const DraftQuery> queries, std::span<Draft> drafts) {
  SLIP_CHECK(queries.size() == drafts.size());
  if (queries.empty()) return;
  requests_.clear();
  n_drafted_.assign(queries.size(), 0);
  for (size_t i = 0; i < queries.size(); ++i) {
    std::vector<TokenId>& tokens = drafts[i].tokens;
    tokens.resize(static_cast<size_t>(queries[i].n_max));
    const SequenceSampling* maybe_sampling = queries[i].maybe_sampling;
    if (maybe_sampling != nullptr) drafts[i].laws.resize(tokens.size());
    // How likely the head's own best token is says little of a token that is drawn: of that, the
    // target's law decides.
    const bool is_greedy = maybe_sampling == nullptr || maybe_sampling->params->shape.is_greedy();
    requests_.push_back({.state = queries[i].state,
                         .pending = queries[i].tokens.back(),
                         .out = tokens,
                         .maybe_sampling = maybe_sampling,
                         .laws = drafts[i].laws,
                         .reach_min = is_greedy ? queries[i].reach_min : 0,
                         .maybe_n_drafted = &n_drafted_[i]});
  }
  runner_.draft(requests_);
  for (size_t i = 0; i < queries.size(); ++i) {
    const auto n = static_cast<size_t>(n_drafted_[i]);
    drafts[i].tokens.resize(n);
    if (!drafts[i].laws.empty()) drafts[i].laws.resize(n);
  }
}

}  // namespace slip
