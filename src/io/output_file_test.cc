#include "io/output_file.h"

#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>

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

TEST(ReplaceTextFile, ReplacesWhatALinkLeadsTo) {
  const TemporaryFolder folder;
  const auto path = folder.write("a", "much longer than the new text");
  const auto link = folder.path() / "link";
  std::filesystem::create_symlink("a", link);
  replace_text_file(link, "link", "new");
  EXPECT_EQ(read_text_file(path), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(link));
}

// The names in a folder.
std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  return names;
}

TEST(ReplaceTextFile, LeavesTheOldTextAndNothingElseWhenTheNewOneFails) {
  const TemporaryFolder folder;
  const auto path = folder.write("a", "old");
  const test::FileSizeLimit limit(50'000);
  EXPECT_TRUE(fails_with(ErrorCode::kOutputFailed,
                         "out: cannot be written to its end: File too large",
                         [&] { replace_text_file(path, "out", std::string(100'000, 'x')); }));
  EXPECT_EQ(read_text_file(path), "old");
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"a"});
}

TEST(ReplaceTextFile, WritesWhereALinkLeadsThatLeadsNowhereYet) {
  const TemporaryFolder folder;
  std::filesystem::create_symlink("new", folder.path() / "link");
  replace_text_file(folder.path() / "link", "link", "text");
  EXPECT_EQ(read_text_file(folder.path() / "new"), "text");
}

TEST(ReplaceTextFile, RefusesLinksThatNeverEnd) {
  const TemporaryFolder folder;
  std::filesystem::create_symlink("b", folder.path() / "a");
  std::filesystem::create_symlink("a", folder.path() / "b");
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, "out: Too many levels of symbolic links",
                         [&] { replace_text_file(folder.path() / "a", "out", "text"); }));
}

TEST(ReplaceTextFile, KeepsThePermissionsOfTheFile) {
  using std::filesystem::perms;
  const TemporaryFolder folder;
  const auto path = folder.write("a", "old");
  std::filesystem::permissions(path, perms::owner_read | perms::owner_write);
  replace_text_file(path, "a", "new");
  EXPECT_EQ(std::filesystem::status(path).permissions(), perms::owner_read | perms::owner_write);
}

TEST(ReplaceTextFile, RefusesWhatIsNoFileAndLeavesNothingBesideIt) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "a");
  ASSERT_EQ(mkfifo((folder.path() / "pipe").c_str(), 0600), 0);
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, "out: found a folder, wanted a file",
                         [&] { replace_text_file(folder.path() / "a", "out", "text"); }));
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, "out: found a device or pipe, wanted a file",
                         [&] { replace_text_file(folder.path() / "pipe", "out", "text"); }));
  EXPECT_EQ(names_in(folder.path()).size(), 2U);
}

TEST(CheckReplaceable, ChangesNothing) {
  const TemporaryFolder folder;
  const auto path = folder.write("a", "old");
  check_replaceable(path, "a");
  check_replaceable(folder.path() / "new", "new");
  EXPECT_EQ(read_text_file(path), "old");
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"a"});
}

TEST(CheckReplaceable, SaysWhatReplacingWouldSay) {
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, "out: cannot be created: No such file",
                         [] { check_replaceable("no/such/folder/file", "out"); }));
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
