#include "app/interrupt.h"

#include <csignal>
#include <cstdlib>

#include <gtest/gtest.h>

namespace slip {
namespace {

// Signals stay in a child: not every raised flag can be lowered.
TEST(InterruptDeathTest, TheFirstSignalRaisesTheFlag) {
  EXPECT_EXIT(
      {
        catch_interrupts();
        std::raise(SIGINT);
        std::exit(is_interrupted() ? 7 : 8);
      },
      testing::ExitedWithCode(7), "");
}

TEST(InterruptDeathTest, AClosedTerminalRaisesTheFlag) {
  EXPECT_EXIT(
      {
        std::signal(SIGHUP, SIG_DFL);
        catch_interrupts();
        std::raise(SIGHUP);
        std::exit(is_interrupted() ? 7 : 8);
      },
      testing::ExitedWithCode(7), "");
}

TEST(InterruptDeathTest, AClosedTerminalIsIgnoredUnderNohup) {
  EXPECT_EXIT(
      {
        std::signal(SIGHUP, SIG_IGN);
        catch_interrupts();
        std::raise(SIGHUP);
        std::exit(is_interrupted() ? 8 : 7);
      },
      testing::ExitedWithCode(7), "");
}

TEST(InterruptDeathTest, TheSecondSignalEndsTheProgram) {
  EXPECT_EXIT(
      {
        catch_interrupts();
        std::raise(SIGINT);
        std::raise(SIGINT);
        std::exit(0);
      },
      testing::KilledBySignal(SIGINT), "");
}

TEST(InterruptDeathTest, AClosedPipeDoesNotKill) {
  EXPECT_EXIT(
      {
        catch_interrupts();
        std::raise(SIGPIPE);
        std::exit(is_interrupted() ? 8 : 7);
      },
      testing::ExitedWithCode(7), "");
}

TEST(InterruptDeathTest, AClearedFlagIsRaisedAgain) {
  EXPECT_EXIT(
      {
        catch_interrupts();
        std::raise(SIGINT);
        clear_interrupt();
        const bool was_cleared = !is_interrupted();
        std::raise(SIGINT);
        std::exit(was_cleared && is_interrupted() ? 7 : 8);
      },
      testing::ExitedWithCode(7), "");
}

TEST(InterruptDeathTest, AnEndIsNotForgotten) {
  EXPECT_EXIT(
      {
        catch_interrupts();
        std::raise(SIGTERM);
        std::raise(SIGINT);
        clear_interrupt();
        std::exit(is_interrupted() ? 7 : 8);
      },
      testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace slip
