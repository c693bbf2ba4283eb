#include "draft/cost_surface.h"

#include <algorithm>
#include <cmath>

namespace slip {
namespace {

// Priors as parts of a one-row step: decoding reads the weights once whatever the rows, a draft
// head is a small model.
constexpr double kRowCostPrior = 0.05;
constexpr double kDraftCostPrior = 0.15;
// No price is below this, so that ratios exist.
constexpr double kMsMin = 1e-6;
// Steps that a measurement counts for: of what widths cost beside each other it says all there is
// to say, of the pace only that of a moment.
constexpr double kMeasuredShapeEvidence = 50;
constexpr double kMeasuredPaceEvidence = 4;
// Evidence fades by this share a step and so never exceeds its inverse. The pace of a machine
// changes sooner than the shape of its costs: it heats up, or a neighbour comes.
constexpr double kPaceFading = 0.1;
constexpr double kShapeFading = 0.02;
// A step speaks for the knot one place further from its width this much less.
constexpr double kNeighbour = 0.1;
// A step that takes longer than this many times the expected is a hiccup and counts as this much.
constexpr double kHiccup = 2;

// Where `n_rows` lies among the knots: 1.5 is midway between the second and the third. Beyond the
// last knot the count goes on at its spacing.
double place_of(double n_rows) {
  const auto& rows = CostSurface::kRows;
  size_t right = 1;
  while (right + 1 < rows.size() && rows[right] < n_rows) ++right;
  const double left_rows = rows[right - 1];
  return static_cast<double>(right - 1) + (n_rows - left_rows) / (rows[right] - left_rows);
}

// The weight of one more step among `evidence` earlier ones, of which it becomes one.
double take_note(double& evidence, double weight, double fading) {
  evidence = (1 - fading * weight) * evidence + weight;
  return weight / evidence;
}

double clipped(double ratio, double evidence) {
  return evidence > 0 ? std::min(ratio, kHiccup) : ratio;
}

}  // namespace

CostSurface::CostSurface() {
  for (size_t i = 0; i < kKnots; ++i) figures_.step_ms[i] = 1 + kRowCostPrior * (kRows[i] - 1);
  figures_.draft_token_ms = kDraftCostPrior;
}

CostSurface::CostSurface(const Figures& measured)
    : figures_(measured),
      pace_evidence_(kMeasuredPaceEvidence),
      draft_evidence_(kMeasuredPaceEvidence),
      is_measured_(true) {
  evidence_.fill(kMeasuredShapeEvidence);
  keep_sensible();
}

void CostSurface::keep_sensible() {
  double least = kMsMin;
  for (double& ms : figures_.step_ms) least = ms = std::max(ms, least);
  figures_.context_ms_one_row = std::max(figures_.context_ms_one_row, 0.0);
  figures_.context_ms_all_rows =
      std::max(figures_.context_ms_all_rows, figures_.context_ms_one_row);
  figures_.draft_run_ms = std::max(figures_.draft_run_ms, 0.0);
  figures_.draft_context_ms = std::max(figures_.draft_context_ms, 0.0);
  if (!(figures_.draft_token_ms > 0))
    figures_.draft_token_ms = kDraftCostPrior * figures_.step_ms[0];
}

double CostSurface::shape_ms(const StepShape& shape) const {
  const double place = place_of(shape.n_rows);
  const auto left = static_cast<size_t>(std::clamp(place, 0.0, static_cast<double>(kKnots) - 2));
  const double share = place - static_cast<double>(left);
  const double rows_ms =
      figures_.step_ms[left] + share * (figures_.step_ms[left + 1] - figures_.step_ms[left]);
  const double rows_each = shape.n_rows / shape.n_sequences;
  const double context_ms =
      figures_.context_ms_one_row + (figures_.context_ms_all_rows - figures_.context_ms_one_row) *
                                        (rows_each - 1) / (kRows.back() - 1);
  return rows_ms + context_ms * shape.context_tokens;
}

double CostSurface::step_ms(const StepShape& shape) const { return pace_ * shape_ms(shape); }

double CostSurface::draft_ms(int32_t n_tokens, double context_tokens) const {
  if (n_tokens == 0) return 0;
  const double token_ms = figures_.draft_token_ms + context_tokens * figures_.draft_context_ms;
  return pace_ * (figures_.draft_run_ms + n_tokens * token_ms);
}

// Moves the knots by what a step of `n_rows` took, times the expected. A knot that was hardly ever
// seen goes with its neighbours; one that was seen often hardly does.
void CostSurface::correct(double n_rows, double ratio) {
  const double place = place_of(n_rows);
  for (size_t i = 0; i < kKnots; ++i) {
    const double distance = std::abs(place - static_cast<double>(i));
    const double gain = take_note(evidence_[i], std::pow(kNeighbour, distance), kShapeFading);
    figures_.step_ms[i] *= 1 + gain * (ratio - 1);
  }
  keep_sensible();
}

void CostSurface::observe(const StepCost& cost) {
  if (cost.n_rows < 1 || !(cost.forward_ms > 0)) return;
  const StepShape shape = {.n_sequences = static_cast<double>(cost.n_sequences),
                           .n_rows = static_cast<double>(cost.n_rows),
                           .context_tokens = static_cast<double>(cost.context_tokens)};
  const double ratio = clipped(cost.forward_ms / step_ms(shape), pace_evidence_);
  const double expected_ms = step_ms(shape);
  // Where no shape was measured, the first step gives the unit and all others teach the shape.
  if (is_measured_ || pace_evidence_ == 0)
    pace_ *= 1 + take_note(pace_evidence_, 1, kPaceFading) * (ratio - 1);
  correct(shape.n_rows, ratio * expected_ms / step_ms(shape));

  if (cost.n_drafts_from_model < 1 || !(cost.draft_ms > 0)) return;
  const double expected_draft_ms =
      draft_ms(cost.n_drafts_from_model, shape.context_tokens / shape.n_sequences);
  const double draft_ratio = clipped(cost.draft_ms / expected_draft_ms, draft_evidence_);
  const double factor = 1 + take_note(draft_evidence_, 1, kShapeFading) * (draft_ratio - 1);
  figures_.draft_run_ms *= factor;
  figures_.draft_token_ms *= factor;
  figures_.draft_context_ms *= factor;
}

}  // namespace slip
