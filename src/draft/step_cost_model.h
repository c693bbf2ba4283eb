// What a step costs, learned from steps as they happen: a line over the number of rows and a price
// for each token that the draft head makes. Only ratios matter to who asks, so a prior without a
// unit serves until something was measured.
#pragma once

#include <cstdint>

namespace slip {

// One step as it was: how long it took and for how many rows.
struct StepCost {
  int32_t n_rows = 0;
  int32_t n_drafts_from_model = 0;  // tokens drafted by the model before it, over all sequences
  double forward_ms = 0;
  double draft_ms = 0;
};

class StepCostModel {
 public:
  void observe(const StepCost& cost);

  double step_ms(double n_rows) const;
  double row_ms() const;    // of one more row; never negative
  double draft_ms() const;  // of one more token from the draft head

 private:
  // Sums over past steps, each step's weight falling with its age.
  double weight_ = 0;
  double mean_rows_ = 1;
  double mean_ms_ = 1;
  double rows_rows_ = 0;  // centred: sum of (rows - mean)^2
  double rows_ms_ = 0;    // centred: sum of (rows - mean) * (ms - mean)
  double draft_token_ms_ = 0;
  bool has_draft_cost_ = false;
};

}  // namespace slip
