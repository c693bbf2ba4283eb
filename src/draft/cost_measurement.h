// The cost surface of a runner, measured by running it: verify segments of every width behind a
// short context, the narrowest and the widest behind a longer one, and the draft head.
#pragma once

#include <functional>

#include "backend/runner.h"
#include "draft/cost_surface.h"

namespace slip {

// What a load may spend. A small model needs less; a large one is measured at fewer widths.
inline constexpr double kMeasureAtLoadMs = 1000;
inline constexpr double kMeasureThoroughlyMs = 5000;

// Takes about `milliseconds_max` at most: a step that is not expected to fit in is left out, and
// widths left out are interpolated. Opens one state and closes it. The prior where the runner has
// no state or room to spare. Throws what the runner throws when the device fails.
//   is_cancelled  asked between steps; once true, the measurement ends soon and means little
CostSurface measure_cost(Runner& runner, double milliseconds_max,
                         const std::function<bool()>& is_cancelled = {});

}  // namespace slip
