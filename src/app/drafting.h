// From --draft and --depth to draft sources.
#pragma once

#include <memory>

#include "app/model_session.h"
#include "app/options.h"
#include "backend/runner.h"
#include "draft/chooser.h"
#include "draft/cost_surface.h"

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

// The same for a command's own model. "auto" starts from the cost surface that `slipstream tune`
// kept, or from one measured here; the time counts as loading.
Drafting prepare_drafting(const DraftOptions& options, ModelSession& session);

}  // namespace slip
