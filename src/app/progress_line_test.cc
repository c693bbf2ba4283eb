#include "app/progress_line.h"

#include <functional>

#include <gtest/gtest.h>

namespace slip {
namespace {

using std::chrono::milliseconds;

// What a terminal, or something else, gets from `use`.
std::string drawn(bool is_terminal, const std::function<void(ProgressLine&)>& use,
                  const TerminalPlace& place = kCurrentLine) {
  std::FILE* const file = std::tmpfile();
  {
    ProgressLine line(file, is_terminal, place);
    use(line);
  }
  std::string text(static_cast<size_t>(std::ftell(file)), ' ');
  std::rewind(file);
  EXPECT_EQ(std::fread(text.data(), 1, text.size(), file), text.size());
  std::fclose(file);
  return text;
}

TEST(ProgressLine, IsDrawnAtMostTenTimesASecond) {
  const ProgressLine::Clock::time_point begin{};
  const std::string text = drawn(true, [&](ProgressLine& line) {
    for (int ms : {0, 50, 99, 100, 150, 250})
      line.show(std::to_string(ms), begin + milliseconds(ms));
  });
  EXPECT_EQ(text, "\r\x1b[K0\r\x1b[K100\r\x1b[K250\r\x1b[K");
}

TEST(ProgressLine, IsErasedOnceAndOnlyIfItIsThere) {
  EXPECT_EQ(drawn(true, [](ProgressLine& line) { line.erase(); }), "");
  EXPECT_EQ(drawn(true,
                  [](ProgressLine& line) {
                    line.show("x");
                    line.erase();
                    line.erase();
                  }),
            "\r\x1b[Kx\r\x1b[K");
}

TEST(ProgressLine, BorrowsTheTitleAndGivesItBack) {
  const ProgressLine::Clock::time_point begin{};
  const std::string text = drawn(
      true,
      [&](ProgressLine& line) {
        line.show("a", begin);
        line.show("b", begin + ProgressLine::kInterval);
      },
      kWindowTitle);
  EXPECT_EQ(text, "\x1b[22;2t\x1b]2;a\x07\x1b]2;b\x07\x1b[23;2t");
}

TEST(ProgressLine, IsNothingForWhatIsNoTerminal) {
  EXPECT_EQ(drawn(false, [](ProgressLine& line) { line.show("x"); }), "");
}

TEST(ProgressBar, FillsUp) {
  EXPECT_EQ(progress_bar(0, 8), "[....................]   0 %");
  EXPECT_EQ(progress_bar(2, 8), "[#####...............]  25 %");
  EXPECT_EQ(progress_bar(8, 8), "[####################] 100 %");
}

}  // namespace
}  // namespace slip
