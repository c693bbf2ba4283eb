#include "app/answer_text.h"

#include <gtest/gtest.h>

namespace slip {
namespace {

// Shown in pieces of one byte, the hardest cut.
std::string show(AnswerText& answer, std::string_view bytes) {
  std::string shown;
  for (size_t i = 0; i < bytes.size(); ++i) shown += answer.push(bytes.substr(i, 1));
  return shown + answer.finish();
}

TEST(AnswerText, DimsReasoningOnATerminal) {
  AnswerText answer(/*begins_in_reasoning=*/false, /*dims_reasoning=*/true);
  EXPECT_EQ(show(answer, "<think>\nwhy\n</think>\n\nso"), "\x1b[2mwhy\x1b[0m\n\nso");
}

TEST(AnswerText, DimsReasoningThatThePromptOpened) {
  AnswerText answer(/*begins_in_reasoning=*/true, /*dims_reasoning=*/true);
  EXPECT_EQ(show(answer, "why\n</think>\n\nso"), "\x1b[2mwhy\x1b[0m\n\nso");
}

TEST(AnswerText, LeavesNothingDimBehindAnUnfinishedReasoning) {
  AnswerText answer(/*begins_in_reasoning=*/true, /*dims_reasoning=*/true);
  EXPECT_EQ(show(answer, "why"), "\x1b[2mwhy\x1b[0m");
}

TEST(AnswerText, SendsNoControlSequenceElsewhere) {
  AnswerText answer(/*begins_in_reasoning=*/true, /*dims_reasoning=*/false);
  EXPECT_EQ(show(answer, "why\n</think>\n\nso"), "why\n\nso");
}

TEST(AnswerText, KeepsTheContentAlone) {
  AnswerText answer(/*begins_in_reasoning=*/true, /*dims_reasoning=*/true);
  const std::string content = "so\n<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>";
  show(answer, "why\n</think>\n\n" + content);
  EXPECT_EQ(answer.content(), content);
}

}  // namespace
}  // namespace slip
