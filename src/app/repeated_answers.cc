#include "app/repeated_answers.h"

#include <algorithm>

namespace slip {

const Answer& median_answer(std::span<const Answer> answers,
                            double (*figure)(const SequenceStats&)) {
  std::vector<const Answer*> sorted;
  sorted.reserve(answers.size());
  for (const Answer& answer : answers) sorted.push_back(&answer);
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>((sorted.size() - 1) / 2);
  std::ranges::nth_element(sorted, middle, {},
                           [&](const Answer* answer) { return figure(answer->finish.stats); });
  return **middle;
}

const Answer* maybe_other(std::span<const Answer> answers, std::span<const TokenId> tokens) {
  const auto other = std::ranges::find_if_not(
      answers, [&](const Answer& answer) { return std::ranges::equal(answer.tokens, tokens); });
  return other == answers.end() ? nullptr : &*other;
}

}  // namespace slip
