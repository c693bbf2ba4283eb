// What a step costs, t(rows, context): a price at a few widths, because real machines show
// staircases and no line fits them, a price for each token of context, and that of a run of the
// draft head, which reads its own cache once a token. Measured at load, corrected by every step
// that follows. Only ratios matter to who asks, so a prior without a unit serves where nothing was
// measured.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace slip {

// Of one step, over all sequences.
struct StepShape {
  double n_sequences = 1;
  double n_rows = 1;
  double context_tokens = 0;  // before the step's rows, summed over sequences
};

// One step as it was.
struct StepCost {
  int32_t n_sequences = 1;
  int32_t n_rows = 0;
  int64_t context_tokens = 0;       // as in StepShape
  int32_t n_drafts_from_model = 0;  // tokens drafted by the model before it, over all sequences
  double forward_ms = 0;
  double draft_ms = 0;
};

class CostSurface {
 public:
  static constexpr std::array<int32_t, 10> kRows = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32};
  static constexpr size_t kKnots = kRows.size();

  // What can be measured, and all that has to be stored.
  struct Figures {
    std::array<double, kKnots> step_ms{};  // [kRows] of one sequence without context
    double context_ms_one_row = 0;         // of each token of context, in a segment of 1 row
    double context_ms_all_rows = 0;        // and of 32
    double draft_run_ms = 0;               // of a run of the draft head, its tokens excluded
    double draft_token_ms = 0;             // of each token of it, without context
    double draft_context_ms = 0;           // of each token of it and of context
  };

  CostSurface();  // the prior: is_measured() is false
  // Falling and negative prices, which noise can produce, are raised to what makes sense; a draft
  // head without a price gets the prior's.
  explicit CostSurface(const Figures& measured);

  // Price of a step, and of a run of the draft head for one sequence of `context_tokens`, nothing
  // for 0 tokens. step_ms() never falls with rows.
  double step_ms(const StepShape& shape) const;
  double draft_ms(int32_t n_tokens, double context_tokens) const;

  // Learns from a step: how fast the machine is at present, and more slowly what this width costs
  // beside others; the prior learns the latter alone. Steps without rows or time are ignored, a
  // step far dearer than expected is taken for a hiccup and counts as less. Allocates nothing.
  void observe(const StepCost& cost);

  bool is_measured() const { return is_measured_; }
  const Figures& figures() const { return figures_; }

 private:
  double shape_ms(const StepShape& shape) const;
  void correct(double n_rows, double ratio);
  void keep_sensible();

  Figures figures_;
  std::array<double, kKnots> evidence_{};  // steps that speak for each knot; old ones fade
  double pace_ = 1;                        // times the figures: what steps take at present
  double pace_evidence_ = 0;               // steps that speak for it
  double draft_evidence_ = 0;
  bool is_measured_ = false;
};

}  // namespace slip
