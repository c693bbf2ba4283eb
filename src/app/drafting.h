// From --draft and --depth to draft sources.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "app/model_session.h"
#include "app/options.h"
#include "backend/runner.h"
#include "draft/chooser.h"
#include "draft/cost_surface.h"
#include "draft/replay_source.h"

namespace slip {

struct Drafting {
  std::unique_ptr<Chooser> chooser;
  bool runs_draft_head = false;  // some source runs it, so states have to keep its history
};

// `runner` outlives the result. Throws Error{kInvalidArgument} for an unknown source, and for "mtp"
// on a model without a draft head.
//   cost  what steps cost, for "auto"
Drafting make_drafting(const DraftOptions& options, Runner& runner,
                       const CostSurface& cost = CostSurface());

// make_drafting() for a command's own model. "auto" starts from the cost surface that `slipstream
// tune` kept, or from one measured here; the time counts as loading.
Drafting prepare_drafting(const DraftOptions& options, ModelSession& session);

// Drafts from an answer that is known already; the last three are those of ReplaySource.
//   depth  tokens of each draft; 0: as many as a step takes
Drafting make_replay(int32_t depth, int32_t n_prompt, std::vector<TokenId> continuation,
                     const ReplayOptions& options);

}  // namespace slip
