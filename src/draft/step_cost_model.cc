#include "draft/step_cost_model.h"

#include <algorithm>

namespace slip {
namespace {

// Priors as parts of a one-row step: decoding reads the weights once whatever the rows, a draft
// head is a small model.
constexpr double kRowCostPrior = 0.05;
constexpr double kDraftCostPrior = 0.15;
// What the slope is worth at least, as sum of squared distances in rows; forgetting takes no more
// of it, so that a slope learned once stays while all steps are alike.
constexpr double kSlopeWeightMin = 4;
// A step's weight after n later ones is (1 - this)^n: the context grows and machines heat up.
constexpr double kForgetting = 0.04;
// A step that takes longer than this many times the expected is a hiccup and counts as this much.
constexpr double kHiccup = 2;

}  // namespace

double StepCostModel::row_ms() const {
  if (weight_ == 0) return kRowCostPrior;
  return std::clamp(rows_ms_ / rows_rows_, 0.0,
                    mean_ms_ / mean_rows_);  // the steepest line starts at the origin
}

double StepCostModel::step_ms(double n_rows) const {
  return mean_ms_ + row_ms() * (n_rows - mean_rows_);
}

double StepCostModel::draft_ms() const {
  return has_draft_cost_ ? draft_token_ms_ : kDraftCostPrior * step_ms(1);
}

void StepCostModel::observe(const StepCost& cost) {
  if (cost.n_rows < 1 || !(cost.forward_ms > 0)) return;
  const double rows = cost.n_rows;
  const double expected_ms = step_ms(rows);
  const bool is_hiccup = weight_ > 0 && cost.forward_ms > kHiccup * expected_ms;
  const double ms = is_hiccup ? kHiccup * expected_ms : cost.forward_ms;

  if (weight_ == 0) {
    const double one_row_ms = ms / (1 + kRowCostPrior * (rows - 1));
    rows_rows_ = kSlopeWeightMin;
    rows_ms_ = kSlopeWeightMin * kRowCostPrior * one_row_ms;
  }
  // Weighted means and co-moments in one pass: Welford's update, with forgetting.
  const double kept = (1 - kForgetting) * weight_;
  weight_ = kept + 1;
  const double rows_off = rows - mean_rows_;
  const double ms_off = ms - mean_ms_;
  mean_rows_ += rows_off / weight_;
  mean_ms_ += ms_off / weight_;
  const double news = kept / weight_;
  rows_rows_ = (1 - kForgetting) * rows_rows_ + news * rows_off * rows_off;
  rows_ms_ = (1 - kForgetting) * rows_ms_ + news * rows_off * ms_off;
  if (rows_rows_ < kSlopeWeightMin) {
    rows_ms_ *= kSlopeWeightMin / rows_rows_;
    rows_rows_ = kSlopeWeightMin;
  }

  if (cost.n_drafts_from_model < 1) return;
  const double token_ms = cost.draft_ms / cost.n_drafts_from_model;
  const double rate = has_draft_cost_ ? kForgetting : 1;
  draft_token_ms_ += rate * (token_ms - draft_token_ms_);
  has_draft_cost_ = true;
}

}  // namespace slip
