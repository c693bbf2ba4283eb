// From --draft and --depth to draft sources.
#pragma once

#include <memory>

#include "app/options.h"
#include "backend/runner.h"
#include "draft/chooser.h"

namespace slip {

struct Drafting {
  std::unique_ptr<Chooser> chooser;
  bool runs_draft_head = false;  // some source runs it, so states have to keep its history
};

// `runner` outlives the result. Throws Error{kInvalidArgument} for an unknown source, and for "mtp"
// on a model without a draft head.
Drafting make_drafting(const DraftOptions& options, Runner& runner);

}  // namespace slip
