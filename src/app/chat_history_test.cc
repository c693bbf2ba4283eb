#include "app/chat_history.h"

#include <string>

#include <gtest/gtest.h>

#include "base/testing/expect_error.h"
#include "io/json_file.h"
#include "io/testing/temporary_folder.h"

namespace slip {
namespace {

TEST(ChatHistory, ComesBackAsItWasSaved) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "chat.json";
  save_history(path, {{"system", "Be \"brief\"."}, {"user", "a\nb"}, {"assistant", "\xc3\xa4"}});
  const std::vector<ChatMessage> messages = load_history(path);
  ASSERT_EQ(messages.size(), 3U);
  EXPECT_EQ(messages[0].content, "Be \"brief\".");
  EXPECT_EQ(messages[1].role, "user");
  EXPECT_EQ(messages[2].content, "\xc3\xa4");
}

TEST(ChatHistory, LeavesNothingElseBehind) {
  const test::TemporaryFolder folder;
  const auto path = folder.write("chat.json", "an older file");
  save_history(path, {});
  const auto entries = std::filesystem::directory_iterator(folder.path());
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 1);
  EXPECT_TRUE(load_history(path).empty());
}

TEST(ChatHistory, ReplacesTheFileBehindALink) {
  const test::TemporaryFolder folder;
  const auto file = folder.write("file.json", "");
  const auto link = folder.path() / "link.json";
  std::filesystem::create_symlink(file, link);
  save_history(link, {});
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_TRUE(load_history(file).empty());
}

TEST(ChatHistory, SaysWhichFileCannotBeWritten) {
  EXPECT_TRUE(test::fails_with(ErrorCode::kInvalidArgument,
                               "no/such/folder/chat.json: cannot be created: No such file",
                               [] { save_history("no/such/folder/chat.json", {}); }));
}

TEST(ChatHistory, RefusesDamagedFilesByName) {
  const test::TemporaryFolder folder;
  const struct {
    const char* text;
    const char* reason;
  } cases[] = {
      {"{", "chat.json"},
      {"[]", "messages"},
      {R"({"messages": {}})", "messages"},
      {R"({"messages": [7]})", "messages[0]: found no object"},
      {R"({"messages": [{"role": "user"}]})", "messages[0]: content"},
      {R"({"messages": [{"role": "user", "content": null}]})", "messages[0]: content"},
      {R"({"messages": [{"role": "tool", "content": ""}]})", R"(found "tool", wanted "user")"},
      {R"({"messages": [{"role": "user", "content": ""}, {"role": "user", "content": ""}]})",
       R"(messages[1]: role: found "user", wanted "assistant")"},
      {R"({"messages": [{"role": "user", "content": ""}]})", "the last message is the user's"},
  };
  for (const auto& [text, reason] : cases) {
    const auto path = folder.write("chat.json", text);
    EXPECT_TRUE(
        test::fails_with(ErrorCode::kCorruptFile, "chat.json", [&] { load_history(path); }));
    EXPECT_TRUE(test::fails_with(ErrorCode::kCorruptFile, reason, [&] { load_history(path); }))
        << text;
  }
}

}  // namespace
}  // namespace slip
