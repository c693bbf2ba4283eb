#include "app/input_text.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "app/testing/standard_input.h"
#include "base/testing/expect_error.h"
#include "io/json_file.h"
#include "io/testing/temporary_folder.h"

namespace slip {
namespace {

using test::fails_with;
using test::StandardInput;
using test::TemporaryFolder;

TEST(ReadInputText, ReadsAFileOrTheStandardInput) {
  const TemporaryFolder folder;
  const StandardInput input(folder.write("input", "piped"));
  EXPECT_EQ(read_input_text(folder.write("file", "named").string()), "named");
  EXPECT_EQ(read_input_text("-"), "piped");
}

TEST(ReadInputText, RefusesMoreThanTheLimit) {
  const TemporaryFolder folder;
  const auto path = folder.write("huge", "");
  std::filesystem::resize_file(path, kJsonFileBytesMax + 1);  // sparse, takes no space
  const StandardInput input(path);
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument,
                         "the standard input: found more than 268435456 bytes",
                         [] { read_input_text("-"); }));
}

TEST(ReadInputText, SaysWhyTheStandardInputCannotBeRead) {
  const TemporaryFolder folder;
  const StandardInput input(folder.path());
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument,
                         "the standard input: cannot be read: Is a directory",
                         [] { read_input_text("-"); }));
}

TEST(ReadInputText, TakesFoldersAndPipesForWrongArguments) {
  const TemporaryFolder folder;
  const auto pipe = folder.path() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {folder.path().string(), pipe.string()}) {
    EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, path + ": not a regular file",
                           [&] { read_input_text(path); }));
  }
}

TEST(ReadInputText, SaysThatAFileIsNotThere) {
  EXPECT_TRUE(
      fails_with(ErrorCode::kNotFound, "/no/such/file", [] { read_input_text("/no/such/file"); }));
}

}  // namespace
}  // namespace slip
