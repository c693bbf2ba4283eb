#include "app/standard_output.h"

#include <cstdio>
#include <cstdlib>

#include <gtest/gtest.h>

#include "base/error.h"

namespace slip {
namespace {

// In a child: the test's own stdout stays as it is.
TEST(FlushStdoutDeathTest, SaysWhyStdoutCannotBeWritten) {
  EXPECT_EXIT(
      {
        if (std::freopen("/dev/full", "w", stdout) == nullptr) std::exit(8);
        std::printf("x");
        try {
          flush_stdout();
        } catch (const Error& error) {
          std::fprintf(stderr, "%s", error.what());
          std::exit(7);
        }
      },
      testing::ExitedWithCode(7), "stdout: cannot be written: No space left on device");
}

TEST(OneLine, EscapesControlCharacters) { EXPECT_EQ(one_line("a\x1b[31m\nb"), "a\\x1b[31m\\x0ab"); }

TEST(OneLine, LeavesOtherTextAsItIs) { EXPECT_EQ(one_line("Grüße, 世界"), "Grüße, 世界"); }

TEST(OneLine, CutsLongText) { EXPECT_LT(one_line(std::string(100000, 'a')).size(), 1000u); }

TEST(FormatBytes, ChoosesTheUnit) {
  EXPECT_EQ(format_bytes(0), "0 bytes");
  EXPECT_EQ(format_bytes(999), "999 bytes");
  EXPECT_EQ(format_bytes(28'860'256), "28.9 MB");
  EXPECT_EQ(format_bytes(4'600'000'000), "4.6 GB");
  EXPECT_EQ(format_bytes(5'000'000'000'000'000), "5000.0 TB");
}

}  // namespace
}  // namespace slip
