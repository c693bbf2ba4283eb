#include "app/tune_report.h"

#include "backend/batch.h"

namespace slip {

namespace {

double segment_ms(const CostSurface& surface, int32_t n_rows, double context_tokens) {
  return surface.step_ms({.n_rows = static_cast<double>(n_rows), .context_tokens = context_tokens});
}

}  // namespace

double break_even_share(const CostSurface& surface, int32_t n_rows, double context_tokens,
                        bool from_head) {
  const int32_t n_drafts = n_rows - 1;
  const double draft_ms = from_head ? surface.draft_ms(n_drafts, context_tokens) : 0;
  const double cycle_ms = segment_ms(surface, n_rows, context_tokens) + draft_ms;
  return (cycle_ms / segment_ms(surface, 1, context_tokens) - 1) / n_drafts;
}

FixedDepth best_fixed_depth(const CostSurface& surface, double acceptance, double context_tokens) {
  const double plain_ms = segment_ms(surface, 1, context_tokens);
  FixedDepth best;
  double n_tokens = 1;
  double survival = 1;
  for (int32_t depth = 1; depth <= kDraftTokensMax; ++depth) {
    survival *= acceptance;
    n_tokens += survival;
    const double cycle_ms =
        segment_ms(surface, depth + 1, context_tokens) + surface.draft_ms(depth, context_tokens);
    const double speedup = n_tokens * plain_ms / cycle_ms;
    if (speedup > best.speedup) best = {.n_tokens = depth, .speedup = speedup};
  }
  return best;
}

}  // namespace slip
