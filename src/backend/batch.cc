#include "backend/batch.h"

#include <algorithm>
#include <numeric>

#include "backend/runner.h"
#include "backend/split_rule.h"
#include "base/check.h"

namespace slip {

int32_t Batch::n_logit_rows() const {
  return std::accumulate(segments.begin(), segments.end(), 0,
                         [](int32_t sum, const Segment& s) { return sum + s.n_logit_rows(); });
}

void check_batch(const Batch& batch, const RunnerInfo& info) {
  SLIP_CHECK(!batch.segments.empty());
  SLIP_CHECK(batch.n_rows() <= info.batch_rows_max);
  SLIP_CHECK(batch.n_logit_rows() <= info.logit_rows_max);
  int32_t n_rows = 0;
  for (const Segment& s : batch.segments) {
    SLIP_CHECK(s.n_rows >= 1 && s.n_certain >= 1 && s.n_certain <= s.n_rows);
    SLIP_CHECK(s.n_drafts() <= kDraftTokensMax);
    SLIP_CHECK(s.wants_next || s.n_drafts() == 0);
    SLIP_CHECK(s.position >= 0 && s.position + s.n_rows <= info.context_tokens_max);
    SLIP_CHECK(s.n_rows <= rows_until_split_change(s.position, info.n_splits));
    n_rows += s.n_rows;
  }
  SLIP_CHECK(n_rows == batch.n_rows());
  for (auto s = batch.segments.begin(); s != batch.segments.end(); ++s) {
    SLIP_CHECK(std::find_if(batch.segments.begin(), s,
                            [&](const Segment& t) { return t.state == s->state; }) == s);
  }
  for (const TokenId token : batch.tokens)
    SLIP_CHECK(index(token) < static_cast<size_t>(info.vocab_size));
}

}  // namespace slip
