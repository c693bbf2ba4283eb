#include "text/tool_call_reader.h"

#include <gtest/gtest.h>

namespace slip {
namespace {

CallStatus read(ToolCallReader& reader, std::string_view text) {
  CallStatus status = CallStatus::kNeedsMore;
  for (size_t n = kToolCallBegin.size(); n <= text.size(); ++n) {
    status = reader.advance(text.substr(0, n));
    if (status != CallStatus::kNeedsMore) break;
  }
  return status;
}

TEST(ToolCallReader, TellsTheSpellingByTheFirstByteThatIsNoSpace) {
  const nlohmann::ordered_json no_tools;
  for (const char* text :
       {"<tool_call> \n{\"name\": \"f\", \"arguments\": {\"a\": \"1\"}}</tool_call>",
        "<tool_call> \n<function=f><parameter=a>1</parameter></function></tool_call>"}) {
    ToolCallReader reader;
    ASSERT_EQ(read(reader, text), CallStatus::kComplete) << text;
    const auto call = reader.call(text, no_tools);
    ASSERT_TRUE(call.has_value()) << text;
    EXPECT_EQ(call->name, "f");
    EXPECT_EQ(call->arguments, R"({"a": "1"})");
  }
}

TEST(ToolCallReader, IsBrokenBehindTheTagByAnythingElse) {
  for (const std::string& text : {std::string("<tool_call>f(1)"), std::string("<tool_call>\n[{}]"),
                                  "<tool_call>" + std::string(kTagGapBytesMax + 1, ' ')}) {
    ToolCallReader reader;
    EXPECT_EQ(read(reader, text), CallStatus::kBroken) << text;
    EXPECT_EQ(reader.position(), kToolCallBegin.size()) << text;
  }
}

TEST(ToolCallReader, MakesNoCallOfBytesThatAreNotUtf8) {
  for (const char* text :
       {"<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"\xFF\"}}</tool_call>",
        "<tool_call><function=f><parameter=a>\xC3</parameter></function></tool_call>"}) {
    ToolCallReader reader;
    ASSERT_EQ(read(reader, text), CallStatus::kComplete);
    EXPECT_FALSE(reader.call(text, {}).has_value());
  }
}

}  // namespace
}  // namespace slip
