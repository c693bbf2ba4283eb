// How far one distribution over the next token is from another: what every lossy option is judged
// with. All in nats.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"

namespace slip {

// -ln of the probability that softmax(logits) gives `token`. NaN where the logits are not usable.
double negative_log_likelihood(std::span<const float> logits, TokenId token);

// KL(softmax(wanted) || softmax(found)): sum of p ln(p / q). Never below 0; NaN where either row is
// not usable, infinite where `found` excludes what `wanted` does not.
//   wanted, found  [vocab_size]
double kl_divergence(std::span<const float> wanted, std::span<const float> found);

struct DivergenceSummary {
  int64_t n_rows = 0;
  double kl_mean = 0;  // a row that is not usable makes mean and maximum NaN
  double kl_p99 = 0;   // the smallest value that 99 % of the rows do not exceed
  double kl_max = 0;
  double agreement = 0;  // share of rows whose largest logit is the same token's
};

// Gathers rows. 4 bytes a row.
class DivergenceStats {
 public:
  void add(std::span<const float> wanted, std::span<const float> found);
  DivergenceSummary summary() const;  // all 0 without rows

 private:
  std::vector<float> kl_;
  int64_t n_agreeing_ = 0;
};

}  // namespace slip
