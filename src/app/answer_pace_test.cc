#include "app/answer_pace.h"

#include <gtest/gtest.h>

namespace slip {
namespace {

using std::chrono::milliseconds;

TokenChunk chunk_of(size_t n_tokens, int32_t n_drafted = 0, int32_t n_accepted = 0) {
  TokenChunk chunk;
  chunk.tokens.resize(n_tokens);
  chunk.n_drafted = n_drafted;
  chunk.n_accepted = n_accepted;
  return chunk;
}

TEST(AnswerPace, CountsFromTheFirstToken) {
  const AnswerPace::Clock::time_point begin{};
  AnswerPace pace;
  EXPECT_FALSE(pace.describe());
  pace.add(chunk_of(1), begin);
  EXPECT_FALSE(pace.describe());
  pace.add(chunk_of(3), begin + milliseconds(10));
  pace.add(chunk_of(1), begin + milliseconds(20));
  EXPECT_EQ(pace.describe(), "200 tokens/s");
}

TEST(AnswerPace, SaysWhatBecameOfDrafts) {
  const AnswerPace::Clock::time_point begin{};
  AnswerPace pace;
  pace.add(chunk_of(1), begin);
  pace.add(chunk_of(4, 3, 3), begin + milliseconds(10));
  pace.add(chunk_of(1, 1, 0), begin + milliseconds(25));
  EXPECT_EQ(pace.describe(), "200 tokens/s, 75 % of drafts accepted");
}

}  // namespace
}  // namespace slip
