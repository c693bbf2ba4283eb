#include "app/output_folder.h"

#include <iterator>

#include <gtest/gtest.h>

#include "base/testing/expect_error.h"
#include "io/json_file.h"
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

TEST(OutputFolder, TakesThePlaceOfAnEmptyFolder) {
  const TemporaryFolder home;
  const fs::path path = home.path() / "out";
  fs::create_directory(path);
  OutputFolder folder(path.string() + "/");
  folder.write("a", "text");
  folder.commit();
  EXPECT_EQ(read_text_file(path / "a"), "text");
}

TEST(OutputFolder, RefusesAFolderThatHoldsSomething) {
  const TemporaryFolder home;
  home.write("a", "");
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, "wanted an empty folder or none",
                         [&] { OutputFolder folder(home.path()); }));
}

TEST(OutputFolder, RefusesWhatIsNoFolder) {
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, "/dev/full",
                         [] { OutputFolder folder("/dev/full"); }));
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
