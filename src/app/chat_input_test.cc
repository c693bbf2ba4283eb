#include "app/chat_input.h"

#include <vector>

#include <gtest/gtest.h>

namespace slip {
namespace {

// Commands come with their slash.
std::vector<std::string> read(const std::vector<std::string>& lines) {
  ChatInputReader reader;
  std::vector<std::string> all;
  const auto add = [&](const std::optional<ChatInput>& input) {
    if (!input) return;
    all.push_back((input->kind == ChatInput::Kind::kCommand ? "/" : "") + input->text);
  };
  for (const std::string& line : lines) add(reader.push(line));
  add(reader.finish());
  return all;
}

using Inputs = std::vector<std::string>;

TEST(ChatInputReader, TakesEachLineForAMessage) {
  EXPECT_EQ(read({"one", "two"}), (Inputs{"one", "two"}));
}

TEST(ChatInputReader, IgnoresBlankLines) { EXPECT_EQ(read({"", "  ", "one"}), Inputs{"one"}); }

TEST(ChatInputReader, GoesOnAfterABackslash) {
  EXPECT_EQ(read({"one\\", "two\\", "three", "four"}), (Inputs{"one\ntwo\nthree", "four"}));
}

TEST(ChatInputReader, TakesABlockAsItStands) {
  EXPECT_EQ(read({"\"\"\"", "/exit", "", "  two\\", "\"\"\"", "three"}),
            (Inputs{"/exit\n\n  two\\", "three"}));
}

TEST(ChatInputReader, TakesAnEmptyBlockForNothing) {
  EXPECT_EQ(read({"\"\"\"", "\"\"\"", "one"}), Inputs{"one"});
}

TEST(ChatInputReader, GivesWhatIsUnfinishedAtTheEnd) {
  EXPECT_EQ(read({"\"\"\"", "one"}), Inputs{"one"});
  EXPECT_EQ(read({"one\\"}), Inputs{"one"});
}

TEST(ChatInputReader, TellsThatMoreIsToCome) {
  ChatInputReader reader;
  reader.push("one\\");
  EXPECT_TRUE(reader.is_unfinished());
  reader.push("two");
  EXPECT_FALSE(reader.is_unfinished());
}

TEST(ChatInputReader, TakesASlashForACommandAtTheBeginOnly) {
  EXPECT_EQ(read({"/save x", "one\\", "/exit"}), (Inputs{"/save x", "one\n/exit"}));
  EXPECT_EQ(read({" /exit"}), Inputs{" /exit"});  // a message
}

TEST(ChatInputReader, RepairsWhatIsNoUtf8) { EXPECT_EQ(read({"a\xff"}), Inputs{"a\xef\xbf\xbd"}); }

TEST(ParseCommand, TellsNameAndArgumentApart) {
  const ChatCommand command = parse_command("save  my file ");
  EXPECT_EQ(command.name, "save");
  EXPECT_EQ(command.argument, "my file");
  EXPECT_EQ(parse_command("exit").argument, "");
}

}  // namespace
}  // namespace slip
