#include "app/line_reader.h"

#include <csignal>
#include <cstdlib>
#include <string_view>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "app/interrupt.h"
#include "base/testing/expect_error.h"

namespace slip {
namespace {

// A pipe whose writing end can be closed.
class Pipe {
 public:
  Pipe() { EXPECT_EQ(pipe(ends_), 0); }
  ~Pipe() {
    close(ends_[0]);
    close_input();
  }
  int output() const { return ends_[0]; }
  void write(std::string_view text) const {
    EXPECT_EQ(::write(ends_[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void close_input() {
    if (ends_[1] >= 0) close(ends_[1]);
    ends_[1] = -1;
  }

 private:
  int ends_[2]{};
};

TEST(LineReader, GivesLinesWithoutTheirEnds) {
  Pipe pipe;
  pipe.write("one\n\nthree");
  pipe.close_input();
  LineReader reader(pipe.output());
  EXPECT_EQ(reader.next(), "one");
  EXPECT_EQ(reader.next(), "");
  EXPECT_EQ(reader.next(), "three");
  EXPECT_EQ(reader.next(), std::nullopt);
}

TEST(LineReader, GivesALineBeforeTheNextIsThere) {
  Pipe pipe;
  pipe.write("first\nsec");
  LineReader reader(pipe.output());
  EXPECT_EQ(reader.next(), "first");
  pipe.write("ond\n");
  EXPECT_EQ(reader.next(), "second");
}

TEST(LineReader, RefusesWhatCannotBeRead) {
  const int folder = open("/", O_RDONLY | O_CLOEXEC);
  LineReader reader(folder);
  EXPECT_TRUE(test::fails_with(ErrorCode::kInvalidArgument, "stdin: cannot be read",
                               [&] { reader.next(); }));
  close(folder);
}

TEST(LineReaderDeathTest, GivesNothingWhenASignalCameFirst) {
  EXPECT_EXIT(
      {
        catch_interrupts();
        Pipe pipe;  // that nobody writes to
        std::raise(SIGINT);
        LineReader reader(pipe.output());
        std::exit(reader.next() ? 8 : 7);
      },
      testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace slip
