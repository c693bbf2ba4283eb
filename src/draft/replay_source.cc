#include "draft/replay_source.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/rng.h"

namespace slip {

ReplaySource::ReplaySource(int32_t n_prompt, std::vector<TokenId> continuation,
                           const ReplayOptions& options)
    : n_prompt_(n_prompt), continuation_(std::move(continuation)), options_(options) {
  SLIP_CHECK(n_prompt >= 0 && options.vocab_size >= 2);
  SLIP_CHECK(options.error_rate >= 0 && options.error_rate <= 1);
}

TokenId ReplaySource::token_at(int32_t index) const {
  const TokenId right = continuation_[static_cast<size_t>(index)];
  const auto position = static_cast<uint64_t>(n_prompt_ + index);
  if (uniform(options_.seed, position, Draw::kTest) >= static_cast<float>(options_.error_rate))
    return right;
  return TokenId{(static_cast<int32_t>(right) + 1) % options_.vocab_size};
}

void ReplaySource::propose(std::span<const DraftQuery> queries, std::span<Draft> drafts) {
  SLIP_CHECK(queries.size() == drafts.size());
  const auto n_recorded = static_cast<int32_t>(continuation_.size());
  for (size_t i = 0; i < queries.size(); ++i) {
    const int32_t begin = static_cast<int32_t>(queries[i].tokens.size()) - n_prompt_;
    if (begin < 0) continue;
    const int32_t end = std::min(begin + queries[i].n_max, n_recorded);
    for (int32_t at = begin; at < end; ++at) drafts[i].tokens.push_back(token_at(at));
  }
}

}  // namespace slip
