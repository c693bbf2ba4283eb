// How far drafts of one source get, learned from outcomes: for each token the chance that it
// survives given that those before it did. Of a copied span that chance depends on how much has
// agreed by then, context and span together; of other drafts on the position alone.
#pragma once

#include <array>
#include <cstdint>

#include "backend/batch.h"

namespace slip {

class Survival {
 public:
  // [kDraftTokensMax + 1]: entry k is the chance that the first k tokens all survive.
  using Curve = std::array<double, kDraftTokensMax + 1>;

  Survival();

  //   match_tokens  as in Draft: above 0 for copied spans
  void observe(int32_t match_tokens, int32_t n_drafted, int32_t n_accepted);

  // Lets half of the evidence go, never the last of it, so that what comes next is believed sooner.
  void loosen();

  // Expected survivors of a draft of k tokens are curve[1] + ... + curve[k].
  Curve curve(int32_t match_tokens) const;

 private:
  static constexpr size_t kPositionGroups = 7;   // of positions: 0, 1, 2, 3, 4-7, 8-15, more
  static constexpr size_t kAgreementGroups = 7;  // 1-3, 4-7, 8-15, 16-31, 32-63, 64-127, more
  static constexpr size_t kGroups = kPositionGroups + kAgreementGroups;
  struct Evidence {
    double n = 0;
    double n_survived = 0;
  };

  static size_t group_of(int32_t match_tokens, int32_t position);

  std::array<Evidence, kGroups> evidence_;  // positions, then agreements
};

}  // namespace slip
