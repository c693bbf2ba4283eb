#include "sample/divergence.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "base/check.h"
#include "sample/accept.h"

namespace slip {

namespace {

// ln of the sum of exp(logits), or NaN: softmax(logits)[i] = exp(logits[i] - it). A quarter of a
// million terms are summed in double, so that two rows that differ in rounding only give about 0.
double log_sum_exp(std::span<const float> logits) {
  if (!argmax(logits)) return std::numeric_limits<double>::quiet_NaN();
  const double max = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - max);
  return max + std::log(sum);
}

}  // namespace

double negative_log_likelihood(std::span<const float> logits, TokenId token) {
  return log_sum_exp(logits) - static_cast<double>(logits[static_cast<size_t>(token)]);
}

double kl_divergence(std::span<const float> wanted, std::span<const float> found) {
  SLIP_CHECK(wanted.size() == found.size());
  const double wanted_norm = log_sum_exp(wanted);
  const double found_norm = log_sum_exp(found);
  if (std::isnan(wanted_norm) || std::isnan(found_norm))
    return std::numeric_limits<double>::quiet_NaN();
  double sum = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const double log_p = static_cast<double>(wanted[i]) - wanted_norm;
    const double p = std::exp(log_p);
    if (p == 0) continue;  // its limit, and what a masked token has
    sum += p * (log_p - (static_cast<double>(found[i]) - found_norm));
  }
  return std::max(sum, 0.0);  // rounding may leave -1e-17
}

void DivergenceStats::add(std::span<const float> wanted, std::span<const float> found) {
  kl_.push_back(static_cast<float>(kl_divergence(wanted, found)));
  const std::optional<TokenId> choice = argmax(wanted);
  if (choice && choice == argmax(found)) ++n_agreeing_;
}

DivergenceSummary DivergenceStats::summary() const {
  if (kl_.empty()) return {};
  const auto n = static_cast<double>(kl_.size());
  const double sum = std::accumulate(kl_.begin(), kl_.end(), 0.0);
  DivergenceSummary summary{.n_rows = static_cast<int64_t>(kl_.size()),
                            .kl_mean = sum / n,
                            .kl_p99 = sum,
                            .kl_max = sum,
                            .agreement = static_cast<double>(n_agreeing_) / n};
  if (std::isnan(sum)) return summary;  // NaN has no place in an order
  std::vector<float> sorted = kl_;
  std::ranges::sort(sorted);
  summary.kl_p99 = sorted[static_cast<size_t>(std::ceil(0.99 * n)) - 1];
  summary.kl_max = sorted.back();
  return summary;
}

}  // namespace slip
