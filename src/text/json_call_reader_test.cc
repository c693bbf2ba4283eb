#include "text/json_call_reader.h"

#include <utility>

#include <gtest/gtest.h>

namespace slip {
namespace {

struct Reading {
  CallStatus status;
  size_t position;
  std::optional<ToolCall> call;
};

Reading read(const std::string& text) {
  JsonCallReader reader(0);
  CallStatus status = CallStatus::kNeedsMore;
  for (size_t n = 1; n <= text.size() && status == CallStatus::kNeedsMore; ++n)
    status = reader.advance(std::string_view(text).substr(0, n));
  Reading result = {status, reader.position(), std::nullopt};
  if (status == CallStatus::kComplete) result.call = reader.call(text);
  return result;
}

std::optional<ToolCall> call_of(const std::string& object) {
  const std::string text = object + "\n</tool_call>";
  const Reading result = read(text);
  EXPECT_EQ(result.status, CallStatus::kComplete) << text;
  EXPECT_EQ(result.position, text.size()) << text;
  return result.call;
}

TEST(JsonCallReader, CopiesArgumentsAsTheyAreWritten) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"name": "f", "arguments": {"a": 1e400, "b":12345678901234567890}})",
       R"({"a": 1e400, "b":12345678901234567890})"},
      {R"({"arguments": { }, "name": "f"})", "{ }"},
      {"{\"name\": \"f\", \"arguments\": {\n \"a\": \"</tool_call>\"\n} }",
       "{\n \"a\": \"</tool_call>\"\n}"},
      {R"({"name": "f", "arguments": "{\"a\": \"\u00e9\\n\"}"})", "{\"a\": \"\u00E9\\n\"}"},
      {R"({"name": "f", "arguments": " {} "})", " {} "},
      {R"({"id": 7, "name": "f", "type": {"name": 1}, "arguments": {}})", "{}"},
      {R"({"n\u0061me": "f", "arguments": {}})", "{}"},
  };
  for (const auto& [object, arguments] : cases) {
    const auto call = call_of(object);
    ASSERT_TRUE(call.has_value()) << object;
    EXPECT_EQ(call->name, "f") << object;
    EXPECT_EQ(call->arguments, arguments) << object;
  }
}

TEST(JsonCallReader, MakesNoCallOfAnObjectThatLacksNameOrArguments) {
  const std::string long_name(kToolNameBytesMax + 1, 'n');
  for (const std::string& object : {
           std::string("{}"),
           std::string(R"({"name": "f"})"),
           std::string(R"({"arguments": {}})"),
           std::string(R"({"name": "", "arguments": {}})"),
           std::string(R"({"name": 1, "arguments": {}})"),
           std::string(R"({"name": "\ud800", "arguments": {}})"),
           std::string(R"({"name": "f", "arguments": null})"),
           std::string(R"({"name": "f", "arguments": []})"),
           std::string(R"({"name": "f", "arguments": ""})"),
           std::string(R"({"name": "f", "arguments": "[1]"})"),
           std::string(R"({"name": "f", "arguments": "{\"a\": }"})"),
           std::string(R"({"name": "f", "name": "g", "arguments": {}})"),
           std::string(R"({"name": "f", "arguments": {}, "arguments": {"a": 1}})"),
           std::string(R"({"function": {"name": "f", "arguments": {}}})"),
           R"({"name": ")" + long_name + R"(", "arguments": {}})",
       }) {
    EXPECT_FALSE(call_of(object).has_value()) << object;
  }
}

TEST(JsonCallReader, SaysWhereACallIsBroken) {
  const std::pair<const char*, size_t> cases[] = {
      {"{name: 1}", 1},
      {"{\"name\": \"f\" <tool_call>", 13},
      {"{\"a\": \"line\nfeed\"}", 11},
      {"{}}</tool_call>", 2},
      {"{}\n text", 2},
      {"{},{}</tool_call>", 2},
      {"{}\n</tool_calls>", 2},
  };
  for (const auto& [text, position] : cases) {
    const Reading result = read(text);
    EXPECT_EQ(result.status, CallStatus::kBroken) << text;
    EXPECT_EQ(result.position, position) << text;
  }
}

TEST(JsonCallReader, BoundsNestingOfArguments) {
  const auto nested = [](size_t depth) {  // the object of the call and that of its arguments count
    return R"({"name": "f", "arguments": {"a": )" + std::string(depth - 2, '[') +
           std::string(depth - 2, ']') + "}}";
  };
  EXPECT_TRUE(call_of(nested(kJsonTextDepthMax)).has_value());
  EXPECT_EQ(read(nested(kJsonTextDepthMax + 1)).status, CallStatus::kBroken);
}

}  // namespace
}  // namespace slip
