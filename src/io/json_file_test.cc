#include "io/json_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/testing/expect_error.h"
#include "io/testing/temporary_folder.h"

namespace slip {
namespace {

using test::fails_with;
using test::TemporaryFolder;

TEST(ReadTextFile, GivesTheWholeFile) {
  const TemporaryFolder folder;
  const std::string text("a\0b\n", 4);
  EXPECT_EQ(read_text_file(folder.write("a", text)), text);
  EXPECT_EQ(read_text_file(folder.write("empty", "")), "");
}

TEST(ReadTextFile, SaysThatAFileIsNotThere) {
  EXPECT_TRUE(
      fails_with(ErrorCode::kNotFound, "/no/such/file", [] { read_text_file("/no/such/file"); }));
}

TEST(ReadTextFile, RefusesAPipeWithoutWaitingForAWriter) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_TRUE(
      fails_with(ErrorCode::kCorruptFile, "not a regular file", [&] { read_text_file(path); }));
}

TEST(ReadTextFile, RefusesAFileAboveTheLimit) {
  const TemporaryFolder folder;
  const auto path = folder.write("huge", "");
  std::filesystem::resize_file(path, kJsonFileBytesMax + 1);  // sparse, takes no space
  EXPECT_TRUE(fails_with(ErrorCode::kCorruptFile, "268435457 bytes, wanted at most 268435456",
                         [&] { read_text_file(path); }));
}

TEST(ReadTextFile, RefusesWhatAUserNamedAsAWrongArgument) {
  const TemporaryFolder folder;
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, "not a regular file",
                         [&] { read_text_file(folder.path(), ErrorCode::kInvalidArgument); }));
  const auto path = folder.write("huge", "");
  std::filesystem::resize_file(path, kJsonFileBytesMax + 1);
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, "268435457 bytes",
                         [&] { read_text_file(path, ErrorCode::kInvalidArgument); }));
}

TEST(ReadTextFile, SaysWhereALinkLeads) {
  const TemporaryFolder folder;
  std::filesystem::create_symlink("gone", folder.path() / "link");
  EXPECT_TRUE(fails_with(ErrorCode::kNotFound,
                         "link: cannot be opened: a link to \"gone\", which is not there",
                         [&] { read_text_file(folder.path() / "link"); }));
}

}  // namespace
}  // namespace slip
