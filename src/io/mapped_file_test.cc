#include "io/mapped_file.h"

#include <fstream>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/testing/expect_error.h"
#include "io/testing/temporary_folder.h"

namespace slip {
namespace {

using test::fails_with;
using test::TemporaryFolder;

std::string_view text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

TEST(MappedFile, ShowsTheBytesOfTheFile) {
  const TemporaryFolder folder;
  constexpr std::string_view kText("nul\0 in it", 10);
  EXPECT_EQ(text_of(MappedFile(folder.write("a", kText))), kText);
}

TEST(MappedFile, OutlivesTheNameOfTheFile) {
  const TemporaryFolder folder;
  const MappedFile file(folder.write("a", "still here"));
  std::filesystem::remove(folder.path() / "a");
  EXPECT_EQ(text_of(file), "still here");
}

TEST(MappedFile, IsEmptyForAnEmptyFile) {
  const TemporaryFolder folder;
  EXPECT_TRUE(MappedFile(folder.write("empty", "")).bytes().empty());
}

TEST(MappedFile, MovesItsBytes) {
  const TemporaryFolder folder;
  MappedFile from(folder.write("a", "moved"));
  MappedFile to(std::move(from));
  EXPECT_EQ(text_of(to), "moved");
  EXPECT_TRUE(from.bytes().empty());  // NOLINT(bugprone-use-after-move)
}

TEST(MappedFile, TakesOverAnotherFileWhenAssigned) {
  const TemporaryFolder folder;
  MappedFile target(folder.write("a", "old"));
  target = MappedFile(folder.write("b", "new one"));
  EXPECT_EQ(text_of(target), "new one");
}

// Kibibytes of mapped files in this process's memory.
int64_t resident_file_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssFile:"))
      return std::stoll(line.substr(line.find_first_of("0123456789")));
  }
  return -1;
}

TEST(MappedFile, LeavesMemoryWhenItsPagesAreReleasedAndKeepsItsBytes) {
  constexpr size_t kBytes = 32 << 20;
  const TemporaryFolder folder;
  const std::string text(kBytes, 'x');
  const MappedFile file(folder.write("large", text));
  ASSERT_EQ(text_of(file), text);  // all of it is in memory now
  const int64_t before = resident_file_kib();
  file.release_pages();
  EXPECT_LT(resident_file_kib(), before - static_cast<int64_t>(kBytes / 1024 / 2));
  EXPECT_EQ(text_of(file), text);
}

TEST(MappedFile, SaysThatAFileIsNotThere) {
  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, "/no/such/file: cannot be opened: No such file",
                         [] { MappedFile("/no/such/file"); }));
}

TEST(MappedFile, RefusesAFolder) {
  const TemporaryFolder folder;
  EXPECT_TRUE(fails_with(ErrorCode::kCorruptFile, "not a regular file",
                         [&] { MappedFile{folder.path()}; }));
}

TEST(MappedFile, RefusesAPipeWithoutWaitingForAWriter) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_TRUE(fails_with(ErrorCode::kCorruptFile, "not a regular file", [&] { MappedFile{path}; }));
}

TEST(MappedFile, RefusesADevice) {
  EXPECT_TRUE(
      fails_with(ErrorCode::kCorruptFile, "not a regular file", [] { MappedFile("/dev/zero"); }));
}

}  // namespace
}  // namespace slip
