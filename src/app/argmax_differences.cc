#include "app/argmax_differences.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "base/check.h"
#include "sample/distribution.h"

namespace slip {

namespace {

struct Top {
  std::optional<TokenId> choice;
  float margin;
};

Top top_of(std::span<const float> logits) {
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  const std::optional<TokenId> choice = argmax(logits);
  if (!choice) return {choice, std::numeric_limits<float>::quiet_NaN()};
  float second = kLowest;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (i != static_cast<size_t>(*choice)) second = std::max(second, logits[i]);
  }
  return {choice, logits[static_cast<size_t>(*choice)] - second};
}

}  // namespace

void ArgmaxDifferences::add(int32_t index, std::span<const float> logits,
                            std::span<const float> other) {
  SLIP_CHECK(logits.size() == other.size() && logits.size() >= 2);
  ++n_rows_;
  for (size_t i = 0; i < logits.size(); ++i) {
    const float difference = std::abs(logits[i] - other[i]);
    if (!(difference <= largest_) && !std::isnan(largest_)) largest_ = difference;
  }
  const Top top = top_of(logits);
  const Top other_top = top_of(other);
  if (top.choice && top.choice == other_top.choice) return;
  all_.push_back({.index = index,
                  .choice = top.choice.value_or(TokenId{-1}),
                  .other_choice = other_top.choice.value_or(TokenId{-1}),
                  .margin = top.margin,
                  .other_margin = other_top.margin});
}

int64_t ArgmaxDifferences::n_ties() const {
  return std::ranges::count_if(all_, &ArgmaxDifference::is_tie);
}

}  // namespace slip
