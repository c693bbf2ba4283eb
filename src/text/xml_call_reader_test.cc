#include "text/xml_call_reader.h"

#include <cctype>
#include <random>
#include <utility>

#include <gtest/gtest.h>

namespace slip {
namespace {

using nlohmann::ordered_json;

// How a call goes on behind `<tool_call>`, with one parameter `v` and its frame.
std::string call_with(const std::string& value) {
  return "\n<function=f>\n<parameter=v>\n" + value + "\n</parameter>\n</function>\n</tool_call>";
}

struct Reading {
  CallStatus status;
  size_t position;
  ToolCall call;
};

// Byte by byte, as the hardest case; text that is left over is not given to the reader.
Reading read(const std::string& text, const ordered_json& tools = {}) {
  XmlCallReader reader(0);
  CallStatus status = CallStatus::kNeedsMore;
  for (size_t n = 1; n <= text.size() && status == CallStatus::kNeedsMore; ++n)
    status = reader.advance(std::string_view(text).substr(0, n));
  Reading result = {status, reader.position(), {}};
  if (status == CallStatus::kComplete) result.call = reader.call(text, tools);
  return result;
}

// The argument `v` of a call that must be complete with the last byte of `text`.
std::string value_of(const std::string& text) {
  const Reading result = read(text);
  EXPECT_EQ(result.status, CallStatus::kComplete) << text;
  EXPECT_EQ(result.position, text.size()) << text;
  if (result.status != CallStatus::kComplete) return "no call";
  return ordered_json::parse(result.call.arguments).value("v", "no argument");
}

TEST(XmlCallReader, KeepsClosingTagsInValuesThatDoNotContinueTheGrammar) {
  for (const char* value : {
           "</parameter>",
           "</parameter>\n",
           "</function>",
           "</tool_call>",
           "</function>\n</tool_call>",
           "</parameter>\n</function>",
           "</parameter>\n</function>\n</function>",
           "</parameter></parameter></function>",
           "print('</parameter>', '</function>', '</tool_call>')",
           "</parameter> x </function></tool_call>",
           "</parameter>\n<parameter=>",
           "</parameter>\n<parameter=a",
           "</parameter>\n<parameter=a<b>",
           "<parameter=a>\n<function=g>\n<tool_call>",
           "<tool_call>\n{\"name\": \"g\", \"arguments\": {}}\n</tool_call>",
           "</parameter</parameter>",
           "<<</parameter>",
           "a < b && c > d",
       }) {
    EXPECT_EQ(value_of(call_with(value)), value);
  }
}

TEST(XmlCallReader, KeepsWholeCallsThatAValueQuotes) {
  const std::string inner = "<tool_call>" + call_with("x");
  EXPECT_EQ(value_of(call_with(inner)), inner);
  EXPECT_EQ(value_of(call_with(inner + "\n" + inner)), inner + "\n" + inner);
  const std::string nested = "<tool_call>" + call_with(inner);
  EXPECT_EQ(value_of(call_with("see\n" + nested + "\nand more")), "see\n" + nested + "\nand more");
  const std::string bare = "<tool_call><function=g></function></tool_call>";
  EXPECT_EQ(value_of(call_with(bare)), bare);
}

TEST(XmlCallReader, MakesNoCallOfTwoWhenTheFirstLacksAClosingTag) {
  const std::string text =
      "\n<function=f>\n<parameter=v>\na\n</function>\n</tool_call>\n<tool_call>" + call_with("b");
  EXPECT_EQ(read(text).status, CallStatus::kNeedsMore);
}

TEST(XmlCallReader, TakesEachParameterNameOnce) {
  EXPECT_EQ(value_of(call_with("a\n</parameter>\n<parameter=v>\nb")),
            "a\n</parameter>\n<parameter=v>\nb");
}

TEST(XmlCallReader, DropsOneLineFeedOnEitherSideOfAValue) {
  const std::pair<const char*, const char*> cases[] = {
      {"\nx\n", "x"}, {"x", "x"},     {"\n\nx\n\n", "\nx\n"},   {"\n\n", ""},     {"\n", ""},
      {"", ""},       {" x ", " x "}, {"\r\nx\r\n", "\r\nx\r"}, {"\n\n\n", "\n"}, {"<", "<"},
      {"<<", "<<"}};
  for (const auto& [written, value] : cases) {
    const std::string text =
        "<function=f><parameter=v>" + std::string(written) + "</parameter></function></tool_call>";
    EXPECT_EQ(value_of(text), value) << written;
  }
}

TEST(XmlCallReader, KeepsOrderNamesAndTypesOfParameters) {
  const auto tools = ordered_json::parse(R"([{"name": "some function",
      "parameters": {"properties": {"n": {"type": "integer"}, "s": {"type": "string"}}}}])");
  const Reading result = read(
      "<function=some function>\n<parameter=s>\n1\n</parameter>\n<parameter=n>\n2\n</parameter>\n"
      "<parameter=\"q\">\n3\n</parameter>\n</function>\n</tool_call>",
      tools);
  EXPECT_EQ(result.call.name, "some function");
  EXPECT_EQ(result.call.arguments, R"({"s": "1", "n": 2, "\"q\"": "3"})");
}

TEST(XmlCallReader, ReadsACallWithoutParameters) {
  for (const char* text :
       {"<function=f></function></tool_call>", "\n<function=f>\n</function>\n</tool_call>"}) {
    EXPECT_EQ(read(text).call.arguments, "{}") << text;
  }
}

TEST(XmlCallReader, SaysWhereACallIsBroken) {
  const std::pair<const char*, size_t> cases[] = {
      {"\nfunction=f>", 0},
      {"\n<function=>", 0},
      {"\n<tool_call>", 0},
      {"\n<function=f>\ntext", 13},
      {"\n<function=f>\n</tool_call>", 13},
      {"\n<function=f>\n</function>\ntext", 13},
      {"\n<function=f>\n<parameter=>", 13},
      {"\n<function=f>{\"a\": 1}", 13},
  };
  for (const auto& [text, position] : cases) {
    const Reading result = read(text);
    EXPECT_EQ(result.status, CallStatus::kBroken) << text;
    EXPECT_EQ(result.position, position) << text;
  }
}

TEST(XmlCallReader, BoundsTheGapsBetweenTags) {
  const auto spread = [](size_t n_spaces) {
    const std::string gap(n_spaces, ' ');
    return gap + "<function=f>" + gap + "<parameter=v>x</parameter>" + gap + "</function>" + gap +
           "</tool_call>";
  };
  EXPECT_EQ(value_of(spread(kTagGapBytesMax)), "x");
  EXPECT_EQ(read(spread(kTagGapBytesMax + 1)).status, CallStatus::kBroken);
}

// Values made of what a value can trip over, written as templates write calls.
// Independent of the reader: an end of the value, or a call in it, whatever white space stands
// between the tags.
bool is_ambiguous(std::string value) {
  std::erase_if(value, [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; });
  return value.find("</parameter><parameter=w>") != std::string::npos ||
         value.find("</parameter></function></tool_call>") != std::string::npos ||
         value.find("<tool_call><function=f>") != std::string::npos;
}

TEST(XmlCallReader, ReadsBackAllValuesThatTheGrammarCanTellFromItsTags) {
  const std::vector<std::string> parts = {"</parameter>",
                                          "</function>",
                                          "</tool_call>",
                                          "<parameter=v>",
                                          "<parameter=w>",
                                          "<function=f>",
                                          "<tool_call>",
                                          "\n",
                                          " ",
                                          "x",
                                          "<",
                                          ">",
                                          "</",
                                          "\u00E9",
                                          "\"",
                                          "\\",
                                          "=",
                                          "\t"};
  std::mt19937 random(5);
  int n_read = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string value;
    const size_t n_parts = random() % 12;
    for (size_t i = 0; i < n_parts; ++i) value += parts[random() % parts.size()];
    if (is_ambiguous(value)) continue;
    ASSERT_EQ(value_of(call_with(value)), value);
    ++n_read;
  }
  EXPECT_GT(n_read, 15'000);
}

}  // namespace
}  // namespace slip
