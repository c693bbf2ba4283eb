#include "backend/draft_chain.h"

#include "sample/distribution.h"

namespace slip {

void extend(DraftChain& chain, const DraftRequest& request, int32_t n_committed,
            std::span<const float> logits, RowSampler& sampler) {
  const auto step = static_cast<size_t>(chain.n_drafted);
  const RowQuery query{.maybe_sampling = request.maybe_sampling,
                       .position = n_committed + 1 + chain.n_drafted,
                       .n_before = chain.n_drafted,
                       .drafts = request.out.first(step)};
  DraftLaw* maybe_law = request.laws.empty() ? nullptr : &request.laws[step];
  // A head without a usable maximum drafts token 0, which the target will judge like any other.
  request.out[step] = sampler.draft(logits, query, maybe_law).value_or(TokenId{0});
  ++chain.n_drafted;
  if (request.reach_min > 0) chain.reach *= top_probability(logits);
  chain.is_over = step + 1 == request.out.size() || chain.reach < request.reach_min;
  if (request.maybe_n_drafted != nullptr) *request.maybe_n_drafted = chain.n_drafted;
}

}  // namespace slip
