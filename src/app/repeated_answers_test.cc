#include "app/repeated_answers.h"

#include <gtest/gtest.h>

namespace slip {
namespace {

std::vector<Answer> answers_of(const std::vector<double>& decode_ms) {
  std::vector<Answer> answers;
  for (const double ms : decode_ms) {
    answers.push_back({.tokens = {TokenId{1}, TokenId{2}}});
    answers.back().finish.stats.completion_tokens = 2;
    answers.back().finish.stats.decode_ms = ms;
  }
  return answers;
}

TEST(MedianAnswer, IsTheOneInTheMiddle) {
  const auto answers = answers_of({30, 10, 20});
  EXPECT_EQ(&median_answer(answers), &answers[2]);
  EXPECT_EQ(&median_answer(answers, [](const SequenceStats& s) { return s.decode_ms - 25; }),
            &answers[2]);
}

TEST(MedianAnswer, IsTheSlowerOfTwo) {
  const auto answers = answers_of({10, 30});
  EXPECT_EQ(&median_answer(answers), &answers[1]);
}

TEST(MaybeOther, FindsOneOtherToken) {
  auto answers = answers_of({1, 1, 1});
  EXPECT_EQ(maybe_other(answers, answers[0].tokens), nullptr);
  answers[1].tokens[1] = TokenId{3};
  EXPECT_EQ(maybe_other(answers, answers[0].tokens), &answers[1]);
}

TEST(MaybeOther, TakesAnAnswerThatEndsEarlyForAnother) {
  auto answers = answers_of({1, 1});
  answers[1].tokens.pop_back();
  EXPECT_EQ(maybe_other(answers, answers[0].tokens), &answers[1]);
}

}  // namespace
}  // namespace slip
