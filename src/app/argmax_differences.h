// Where two settings of a model would choose another token, and how close those choices were.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"

namespace slip {

struct ArgmaxDifference {
  int32_t index;  // of the token in the text
  TokenId choice, other_choice;
  // Largest logit less the second largest, on each side. NaN where logits are not usable.
  float margin, other_margin;

  // One side at least could not tell its two best tokens apart.
  bool is_tie() const { return margin == 0 || other_margin == 0; }
};

// Gathers rows; keeps the differences only.
class ArgmaxDifferences {
 public:
  //   logits, other  [vocab_size], at least 2, of the same row
  void add(int32_t index, std::span<const float> logits, std::span<const float> other);

  int64_t n_rows() const { return n_rows_; }
  const std::vector<ArgmaxDifference>& all() const { return all_; }
  int64_t n_ties() const;  // of the differences
  // The largest absolute difference of one logit; NaN where a row is not usable.
  float largest_logit_difference() const { return largest_; }

 private:
  int64_t n_rows_ = 0;
  std::vector<ArgmaxDifference> all_;
  float largest_ = 0;
};

}  // namespace slip
