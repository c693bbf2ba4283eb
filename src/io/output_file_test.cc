#include "io/output_file.h"

#include <cerrno>

#include <gtest/gtest.h>

#include "base/testing/expect_error.h"
#include "io/json_file.h"
#include "io/testing/file_size_limit.h"
#include "io/testing/temporary_folder.h"

namespace slip {
namespace {

using test::fails_with;
using test::TemporaryFolder;

TEST(OutputFile, ReplacesWhatWasThere) {
  const TemporaryFolder folder;
  const auto path = folder.write("a", "much longer than the new text");
  write_text_file(path, "a", "new");
  EXPECT_EQ(read_text_file(path), "new");
}

TEST(OutputFile, SaysWhyTheDiskTakesNoMore) {
  EXPECT_TRUE(fails_with(ErrorCode::kOutputFailed,
                         "out: cannot be written to its end: No space left on device",
                         [] { write_text_file("/dev/full", "out", "text"); }));
}

TEST(OutputFile, SaysWhyTheRestOfALongWriteIsMissing) {
  const TemporaryFolder folder;
  const test::FileSizeLimit limit(50'000);
  EXPECT_TRUE(
      fails_with(ErrorCode::kOutputFailed, "out: cannot be written to its end: File too large",
                 [&] { write_text_file(folder.path() / "a", "out", std::string(100'000, 'x')); }));
}

TEST(OutputFile, TakesAPathThatWillNotDoForAWrongArgument) {
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument,
                         "out: cannot be created: No such file or directory",
                         [] { write_text_file("/no/such/folder/a", "out", "text"); }));
}

TEST(OutputFile, TakesADiskWithoutRoomForAFailureOfTheWorld) {
  EXPECT_EQ(creation_error(ENOSPC), ErrorCode::kOutputFailed);
  EXPECT_EQ(creation_error(EACCES), ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace slip
