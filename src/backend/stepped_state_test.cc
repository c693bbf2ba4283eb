#include "backend/stepped_state.h"

#include <optional>

#include <gtest/gtest.h>

#include "backend/testing/scripted_runner.h"

namespace slip {
namespace {

class SteppedStateTest : public testing::Test {
 protected:
  SteppedStateTest() : runner_({}) {
    const StateId state = runner_.open({}).value();
    EXPECT_TRUE(runner_.reserve(state, 1000));
    state_.emplace(runner_, state);
  }

  int32_t n_committed() const { return runner_.state_info(state_->id()).n_committed; }

  ScriptedRunner runner_;
  std::optional<SteppedState> state_;
};

TEST_F(SteppedStateTest, ReadsAsFarAsItIsTold) {
  state_->read_to(700);
  EXPECT_EQ(state_->position(), 700);
  EXPECT_EQ(n_committed(), 700);
}

// A vocabulary of 16: some of the drafts are what the model would have said.
TEST_F(SteppedStateTest, KeepsOneRowOfEveryStep) {
  state_->read_to(10);
  for (int32_t i = 0; i < 100; ++i) {
    state_->verify(8);
    ASSERT_EQ(n_committed(), 11 + i);
  }
  EXPECT_GT(runner_.counts().n_truncates, 0);
}

TEST_F(SteppedStateTest, EndsReadingWhenCancelled) {
  state_->read_to(700, [&] { return state_->position() >= 128; });
  EXPECT_LT(state_->position(), 700);
}

TEST_F(SteppedStateTest, ClosesItsStateAtTheEnd) {
  state_.reset();
  EXPECT_EQ(runner_.counts().n_closes, 1);
}

}  // namespace
}  // namespace slip
