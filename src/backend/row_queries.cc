#include "backend/row_queries.h"

#include "base/check.h"

namespace slip {

void make_row_queries(const Batch& batch, std::span<const AcceptRequest> requests,
                      std::vector<RowQuery>& queries) {
  SLIP_CHECK(requests.empty() || requests.size() == batch.segments.size());
  queries.clear();
  size_t row = 0;
  for (size_t i = 0; i < batch.segments.size(); ++i) {
    const Segment& s = batch.segments[i];
    const AcceptRequest request = requests.empty() ? AcceptRequest{} : requests[i];
    const auto n_drafts = static_cast<size_t>(s.n_drafts());
    SLIP_CHECK(request.laws.empty() || request.laws.size() >= n_drafts);
    const auto drafts = std::span<const TokenId>(batch.tokens)
                            .subspan(row + static_cast<size_t>(s.n_certain), n_drafts);
    for (int32_t n_before = 0; n_before < s.n_logit_rows(); ++n_before) {
      queries.push_back({.maybe_sampling = request.maybe_sampling,
                         .position = s.position + s.n_certain + n_before,
                         .n_before = n_before,
                         .drafts = drafts,
                         .laws = request.laws});
    }
    row += static_cast<size_t>(s.n_rows);
  }
}

}  // namespace slip
