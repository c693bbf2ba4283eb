#include "app/output_folder.h"

#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/testing/expect_error.h"
#include "io/json_file.h"
#include "io/testing/file_size_limit.h"
#include "io/testing/temporary_folder.h"

namespace slip {
namespace {

namespace fs = std::filesystem;
using test::fails_with;
using test::TemporaryFolder;

auto n_entries(const fs::path& folder) {
  return std::distance(fs::directory_iterator(folder), fs::directory_iterator());
}

TEST(OutputFolder, AppearsOnlyWithCommit) {
  const TemporaryFolder home;
  const fs::path path = home.path() / "out";
  OutputFolder folder(path);
  folder.write("a", "text");
  EXPECT_FALSE(fs::exists(path));
  folder.commit();
  EXPECT_EQ(read_text_file(path / "a"), "text");
  EXPECT_EQ(n_entries(home.path()), 1);
}

TEST(OutputFolder, LeavesNothingWithoutCommit) {
  const TemporaryFolder home;
  { OutputFolder(home.path() / "out").write("a", "text"); }
  EXPECT_EQ(n_entries(home.path()), 0);
}

TEST(OutputFolder, WritesIntoAnEmptyFolderThatKeepsItsModeAndItself) {
  const TemporaryFolder home;
  const fs::path path = home.path() / "out";
  fs::create_directory(path);
  fs::permissions(path, fs::perms::owner_all | fs::perms::group_write);
  const TemporaryFolder link_home;
  fs::create_directory_symlink(path, link_home.path() / "link");
  OutputFolder folder(link_home.path() / "link/");
  folder.write("a", "text");
  EXPECT_EQ(n_entries(home.path()), 1);
  EXPECT_FALSE(fs::exists(path / "a"));
  folder.commit();
  EXPECT_EQ(read_text_file(path / "a"), "text");
  EXPECT_EQ(n_entries(path), 1);
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_all | fs::perms::group_write);
}

// Whoever looks in the middle finds no model.
TEST(OutputFolder, MovesTheConfigurationUpLast) {
  const TemporaryFolder home;
  OutputFolder folder(home.path());
  for (const char* name : {"a", "config.json", "z", "b"}) folder.write(name, "text");
  const int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  ASSERT_GE(inotify_add_watch(watch, home.path().c_str(), IN_MOVED_TO), 0);
  folder.commit();
  alignas(inotify_event) char events[4096];
  const ssize_t n_bytes = read(watch, events, sizeof(events));
  close(watch);
  std::vector<std::string> names;
  for (ssize_t at = 0; at < n_bytes;) {
    const auto* event = reinterpret_cast<const inotify_event*>(events + at);
    names.emplace_back(event->name);
    at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
  }
  ASSERT_EQ(names.size(), 4u);
  EXPECT_EQ(names.back(), "config.json");
}

TEST(OutputFolder, TakesTheCurrentFolder) {
  const TemporaryFolder home;
  const fs::path before = fs::current_path();
  fs::current_path(home.path());
  OutputFolder folder(".");
  folder.write("a", "text");
  folder.commit();
  fs::current_path(before);
  EXPECT_EQ(read_text_file(home.path() / "a"), "text");
}

TEST(OutputFolder, LeavesAnEmptyFolderEmptyWithoutCommit) {
  const TemporaryFolder home;
  { OutputFolder(home.path()).write("a", "text"); }
  EXPECT_EQ(n_entries(home.path()), 0);
}

TEST(OutputFolder, SaysWhatCameIntoAnEmptyFolderMeanwhile) {
  const TemporaryFolder home;
  {
    OutputFolder folder(home.path());
    folder.write("config.json", "ours");
    home.write("config.json", "theirs");
    EXPECT_TRUE(fails_with(ErrorCode::kOutputFailed,
                           home.path().filename().string() +
                               ": cannot be put in place: \"config.json\" has come into it",
                           [&] { folder.commit(); }));
  }
  EXPECT_EQ(read_text_file(home.path() / "config.json"), "theirs");
  EXPECT_EQ(n_entries(home.path()), 1);
}

TEST(OutputFolder, SaysThatItsPlaceIsTakenMeanwhile) {
  const TemporaryFolder home;
  {
    OutputFolder folder(home.path() / "out");
    fs::create_directory(home.path() / "out");
    home.write("out/a", "theirs");
    EXPECT_TRUE(fails_with(ErrorCode::kOutputFailed,
                           "out: cannot be put in place: Directory not empty",
                           [&] { folder.commit(); }));
  }
  EXPECT_EQ(read_text_file(home.path() / "out/a"), "theirs");
  EXPECT_EQ(n_entries(home.path()), 1);
}

TEST(OutputFolder, SaysThatTheDiskIsFull) {
  const TemporaryFolder home;
  const OutputFolder folder(home.path() / "out");
  const test::FileSizeLimit limit(10);
  EXPECT_TRUE(fails_with(ErrorCode::kOutputFailed,
                         "out/a: cannot be written to its end: File too large",
                         [&] { folder.write("a", "more than ten bytes"); }));
}

TEST(OutputFolder, RefusesAFolderThatHoldsSomething) {
  const TemporaryFolder home;
  home.write("a", "");
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument,
                         "found \"a\" in it, wanted an empty folder or none",
                         [&] { OutputFolder folder(home.path()); }));
}

TEST(OutputFolder, RefusesWhatIsNoFolder) {
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, "/dev/full",
                         [] { OutputFolder folder("/dev/full"); }));
}

TEST(OutputFolder, RefusesALinkToNothing) {
  const TemporaryFolder home;
  fs::create_symlink("gone", home.path() / "out");
  for (const char* name : {"out", "out/"}) {
    EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, "a link to nothing", [&] {
      OutputFolder folder(home.path() / name);
    })) << name;
  }
}

TEST(OutputFolder, RefusesAPathBelowAFile) {
  const TemporaryFolder home;
  home.write("file", "");
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, "Not a directory",
                         [&] { OutputFolder folder(home.path() / "file/out"); }));
}

TEST(OutputFolder, RefusesAParentThatIsNotThere) {
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, "cannot be created",
                         [] { OutputFolder folder("/no/such/parent/out"); }));
}

TEST(OutputFolder, CopiesWhatALinkNames) {
  const TemporaryFolder home;
  home.write("blob", "text");
  fs::create_symlink(home.path() / "blob", home.path() / "tokenizer.json");
  OutputFolder folder(home.path() / "out");
  folder.copy(home.path() / "tokenizer.json");
  folder.commit();
  EXPECT_FALSE(fs::is_symlink(home.path() / "out/tokenizer.json"));
  EXPECT_EQ(read_text_file(home.path() / "out/tokenizer.json"), "text");
}

}  // namespace
}  // namespace slip
