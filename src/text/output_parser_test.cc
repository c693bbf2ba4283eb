#include "text/output_parser.h"

#include <chrono>
#include <random>

#include <gtest/gtest.h>

#include "text/testing/output_events.h"

namespace slip {
namespace {

using nlohmann::ordered_json;
using test::describe;
using test::OutputAccount;
using test::parse_pieces;

ordered_json tools() {
  return ordered_json::parse(R"([{"type": "function", "function": {"name": "read", "parameters": {
      "type": "object", "properties": {
          "path": {"type": "string"}, "line": {"type": "integer"}, "all": {"type": "boolean"},
          "where": {"type": ["object", "null"]}}}}}])");
}

OutputParserOptions options(bool starts_in_reasoning) {
  return {.starts_in_reasoning = starts_in_reasoning, .tools = tools()};
}

enum class Begin { kContent, kReasoning };

struct OutputCase {
  const char* name;
  Begin begin;
  std::string output;
  std::string events;
};

const std::string kRead =
    "<tool_call>\n<function=read>\n<parameter=path>\na.cc\n</parameter>\n</function>\n</tool_call>";
const std::string kReadJson =
    "<tool_call>\n{\"name\": \"read\", \"arguments\": {\"line\": 1e400}}\n</tool_call>";

const OutputCase kCases[] = {
    {"nothing", Begin::kContent, "", ""},
    {"plain text", Begin::kContent, "Hello.\n\nBye.\n", "C[Hello.\n\nBye.\n]"},
    {"only space", Begin::kContent, " \n", "C[ \n]"},

    // Reasoning.
    {"the prompt opened it", Begin::kReasoning, "hm\n</think>\n\nSo.", "R[hm] C[So.]"},
    {"the model opens it", Begin::kContent, "<think>\nhm\n</think>\n\nSo.", "R[hm] C[So.]"},
    {"space before it", Begin::kContent, "\n <think>hm</think>So.", "R[hm] C[So.]"},
    {"too much space before it", Begin::kContent, std::string(65, ' ') + "<think>",
     "C[" + std::string(65, ' ') + "<think>]"},
    {"empty", Begin::kContent, "<think>\n\n</think>\n\nSo.", "C[So.]"},
    {"empty, closed at once", Begin::kReasoning, "</think>So.", "C[So.]"},
    {"never closed", Begin::kReasoning, "hm\n\n", "R[hm\n\n]"},
    {"closed by half", Begin::kReasoning, "hm\n</think", "R[hm\n</think]"},
    {"opened by half", Begin::kContent, "\n<thin", "C[\n<thin]"},
    {"something like it", Begin::kContent, "<thinking>a</thinking>", "C[<thinking>a</thinking>]"},
    {"own line feeds stay", Begin::kReasoning, "\n\nhm\n\n</think>\n\n\n\nSo.",
     "R[\n\nhm\n] C[\n\nSo.]"},
    {"own line feeds stay when the model opens it", Begin::kContent, "<think>\n\nhm</think>\nSo.",
     "R[\nhm] C[So.]"},
    {"no carriage return is dropped", Begin::kReasoning, "hm\r\n</think>\r\n\r\nSo.",
     "R[hm\r] C[\r\n\r\nSo.]"},
    {"only at the begin", Begin::kContent, "So <think>\nhm\n</think>\n\n",
     "C[So <think>\nhm\n</think>\n\n]"},
    {"not twice", Begin::kReasoning, "a</think>b<think>c</think>d", "R[a] C[b<think>c</think>d]"},
    {"not twice at the begin of the content", Begin::kReasoning, "a</think>\n\n<think>b</think>",
     "R[a] C[<think>b</think>]"},
    {"opened twice", Begin::kReasoning, "<think>\nhm</think>So.", "R[<think>\nhm] C[So.]"},
    {"closed twice", Begin::kReasoning, "hm\n</think>\n\n</think>\n\nSo.",
     "R[hm] C[</think>\n\nSo.]"},
    {"closed and never opened", Begin::kContent, "</think>\n\nSo.", "C[</think>\n\nSo.]"},
    {"tags that almost close it", Begin::kReasoning, "</thin</think >\n</ think>\n</think>x",
     "R[</thin</think >\n</ think>] C[x]"},
    {"no calls in it", Begin::kReasoning, kRead + "\n</think>\n\nSo.", "R[" + kRead + "] C[So.]"},
    {"no calls in it when it is never closed", Begin::kReasoning, "hm\n" + kRead,
     "R[hm\n" + kRead + "]"},
    {"calls directly behind it", Begin::kReasoning, "hm\n</think>\n\n" + kRead,
     "R[hm] 0:read{\"path\": \"a.cc\"}"},
    {"it may quote the tag of a call", Begin::kReasoning, "use <tool_call></think>" + kRead,
     "R[use <tool_call>] 0:read{\"path\": \"a.cc\"}"},

    // Calls.
    {"one call", Begin::kContent, kRead, "0:read{\"path\": \"a.cc\"}"},
    {"text and a call", Begin::kContent, "I look.\n\n" + kRead,
     "C[I look.] 0:read{\"path\": \"a.cc\"}"},
    {"own line feeds stay in front of a call", Begin::kContent, "I look.\n\n\n\n" + kRead,
     "C[I look.\n\n] 0:read{\"path\": \"a.cc\"}"},
    {"several calls of both spellings", Begin::kContent, kRead + "\n" + kReadJson + "\n" + kRead,
     "0:read{\"path\": \"a.cc\"} 1:read{\"line\": 1e400} 2:read{\"path\": \"a.cc\"}"},
    {"text behind a call", Begin::kContent, kRead + "\nDone.\n",
     "0:read{\"path\": \"a.cc\"} C[\nDone.\n]"},
    {"text between calls", Begin::kContent, kRead + "\nand\n" + kRead,
     "0:read{\"path\": \"a.cc\"} C[\nand] 1:read{\"path\": \"a.cc\"}"},
    {"types", Begin::kContent,
     "<tool_call><function=read><parameter=path>12</parameter><parameter=line>12</parameter>"
     "<parameter=all>true</parameter><parameter=where>null</parameter><parameter=x>12</parameter>"
     "</function></tool_call>",
     "0:read{\"path\": \"12\", \"line\": 12, \"all\": true, \"where\": null, \"x\": \"12\"}"},
    {"a function that is not declared", Begin::kContent,
     "<tool_call><function=rm><parameter=n>1</parameter></function></tool_call>",
     "0:rm{\"n\": \"1\"}"},
    {"a call that quotes a call", Begin::kContent,
     "<tool_call><function=f><parameter=text>\n" + kReadJson +
         "\n</parameter></function></tool_call>",
     "0:f{\"text\": " + ordered_json(kReadJson).dump() + "}"},
    {"a whole tag inside a word", Begin::kContent, "a" + kRead + "b",
     "C[a] 0:read{\"path\": \"a.cc\"} C[b]"},
    {"characters of many bytes", Begin::kReasoning,
     "\u00E9\u4E2D</think>\U0001F600<tool_call><function=\u00E9><parameter=\u4E2D>\U0001F600"
     "</parameter></function></tool_call>\u00E9",
     "R[\u00E9\u4E2D] C[\U0001F600] 0:\u00E9{\"\u4E2D\": \"\U0001F600\"} C[\u00E9]"},

    // Calls that are none: content, unchanged.
    {"unfinished tag", Begin::kContent, "a\n\n<tool_cal", "C[a\n\n<tool_cal]"},
    {"unfinished call", Begin::kContent, "a\n\n" + kRead.substr(0, kRead.size() - 1),
     "C[a\n\n" + kRead.substr(0, kRead.size() - 1) + "]"},
    {"unfinished JSON", Begin::kContent, "<tool_call>{\"name\": \"f\", \"arguments\": {",
     "C[<tool_call>{\"name\": \"f\", \"arguments\": {]"},
    {"empty call", Begin::kContent, "<tool_call>\n</tool_call>", "C[<tool_call>\n</tool_call>]"},
    {"prose", Begin::kContent, "write <tool_call> and so on", "C[write <tool_call> and so on]"},
    {"python", Begin::kContent, "<tool_call>read('a')</tool_call>",
     "C[<tool_call>read('a')</tool_call>]"},
    {"no function", Begin::kContent, "<tool_call>\n<parameter=a>\n1\n</parameter>\n</tool_call>",
     "C[<tool_call>\n<parameter=a>\n1\n</parameter>\n</tool_call>]"},
    {"no opening tag", Begin::kContent, kRead.substr(12), "C[" + kRead.substr(12) + "]"},
    {"a bracket is missing", Begin::kContent,
     "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}\n</tool_call>\nSorry.",
     "C[<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}\n</tool_call>\nSorry.]"},
    {"no arguments", Begin::kContent, "<tool_call>{\"name\": \"f\"}</tool_call>",
     "C[<tool_call>{\"name\": \"f\"}</tool_call>]"},
    {"bytes that are not UTF-8", Begin::kContent,
     "\xFF<tool_call><function=f><parameter=a>\xFF</parameter></function></tool_call>\xE4",
     "C[\xFF<tool_call><function=f><parameter=a>\xFF</parameter></function></tool_call>\xE4]"},
    {"a good call behind a broken one", Begin::kContent, "<tool_call>\n<tool_call>\n\n" + kRead,
     "C[<tool_call>\n<tool_call>] 0:read{\"path\": \"a.cc\"}"},
    {"a good call behind broken JSON", Begin::kContent,
     "<tool_call>{\"name\": \"f\", \"arguments\": " + kReadJson,
     "C[<tool_call>{\"name\": \"f\", \"arguments\": ] 0:read{\"line\": 1e400}"},
    {"a good call behind one without a closing tag", Begin::kContent,
     "<tool_call><function=f><parameter=a>1</function></tool_call>" + kRead,
     "C[<tool_call><function=f><parameter=a>1</function></tool_call>" + kRead + "]"},
};

TEST(OutputParser, GivesTheEventsOfTheTableHoweverTheOutputIsCut) {
  for (const OutputCase& test : kCases) {
    SCOPED_TRACE(test.name);
    const auto given = options(test.begin == Begin::kReasoning);
    const std::string_view output = test.output;
    EXPECT_EQ(describe(parse_pieces(given, {output})), test.events);
    EXPECT_EQ(describe(parse_pieces(given, test::bytes_of(output))), test.events);
    for (size_t cut = 1; cut < output.size(); ++cut) {
      EXPECT_EQ(describe(parse_pieces(given, {output.substr(0, cut), output.substr(cut)})),
                test.events);
    }
  }
}

TEST(OutputParser, LeavesCallsInTheContentWhenAsked) {
  const OutputParserOptions given = {.reads_tool_calls = false};
  EXPECT_EQ(describe(parse_pieces(given, {"<think>hm</think>" + kRead})), "R[hm] C[" + kRead + "]");
}

TEST(OutputParser, SaysWhichBytesOfTheOutputAnEventStandsFor) {
  const std::string output = "<think>\nhm\n</think>\n\nSo.\n\n" + kRead;
  const auto events = parse_pieces(options(false), {output});
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(output.substr(events[0].begin, events[0].end - events[0].begin), "hm");
  EXPECT_EQ(output.substr(events[1].begin, events[1].end - events[1].begin), "So.");
  EXPECT_EQ(output.substr(events[2].begin, events[2].end - events[2].begin), kRead);
}

// What may be held back outside of calls is short: everything else streams.
TEST(OutputParser, GivesOutTextAtOnceUnlessItMayBecomeATag) {
  const std::pair<const char*, const char*> cases[] = {
      {"a b", "a b"}, {"a\n", "a"},         {"a\n\n\n", "a\n"}, {"a\n\n<tool", "a"},
      {"a <", "a "},  {"a <b", "a <b"},     {"a\nb", "a\nb"},   {"<think>a\n\n", "a\n"},
      {"<thi", ""},   {"<think>a\n</", "a"}};
  for (const auto& [output, text] : cases) {
    OutputParser parser(options(false));
    std::vector<OutputEvent> events;
    parser.feed(output, events);
    std::string given;
    for (const OutputEvent& event : events) given += event.text;
    EXPECT_EQ(given, text) << output;
  }
}

TEST(OutputParser, GivesACallOutWithItsLastByte) {
  OutputParser parser(options(false));
  std::vector<OutputEvent> events;
  parser.feed(std::string_view(kRead).substr(0, kRead.size() - 1), events);
  EXPECT_TRUE(events.empty());
  parser.feed(">", events);
  EXPECT_EQ(describe(events), "0:read{\"path\": \"a.cc\"}");
  EXPECT_EQ(parser.n_calls(), 1);
}

// Positions of kRead's tags; the names in them may become others, and line feeds may go.
TEST(OutputParser, TakesNoCallWhoseTagsLackAByte) {
  for (const std::string_view tag : {"<tool_call>", "<function=", ">\n<parameter",
                                     "parameter=", "</parameter>", "</function>", "</tool_call>"}) {
    const size_t begin = kRead.find(tag);
    ASSERT_NE(begin, std::string::npos) << tag;
    for (size_t i = begin; i < begin + tag.size(); ++i) {
      if (kRead[i] == '\n') continue;
      std::string broken = kRead;
      broken.erase(i, 1);
      EXPECT_EQ(describe(parse_pieces(options(false), {broken})), "C[" + broken + "]");
    }
  }
}

TEST(OutputParser, TakesNoCallOfJsonThatLacksAByte) {
  for (size_t i = 0; i < kReadJson.size(); ++i) {
    const bool is_markup = std::string_view("\"{}:,</>_").find(kReadJson[i]) != std::string::npos;
    if (!is_markup) continue;
    std::string broken = kReadJson;
    broken.erase(i, 1);
    EXPECT_EQ(describe(parse_pieces(options(false), {broken})), "C[" + broken + "]");
  }
}

const std::vector<std::string> kFragments = {"<think>",
                                             "</think>",
                                             "<tool_call>",
                                             "</tool_call>",
                                             "<function=f>",
                                             "</function>",
                                             "<parameter=a>",
                                             "<parameter=b>",
                                             "</parameter>",
                                             "\n",
                                             "\n\n",
                                             " ",
                                             "text",
                                             "<",
                                             ">",
                                             "</",
                                             "<t",
                                             "{",
                                             "}",
                                             "{\"name\": \"f\", ",
                                             "\"",
                                             "\"arguments\": ",
                                             "{\"a\": [1, 2]}",
                                             "\\",
                                             "\u00E9",
                                             "\xFF",
                                             "\xE4\xB8",
                                             "\t",
                                             "=",
                                             ":"};

// Random text of the tags, parts of them and what stands between; often a whole call.
std::string random_output(std::mt19937& random) {
  std::string output;
  const size_t n_fragments = random() % 24;
  for (size_t i = 0; i < n_fragments; ++i) {
    const size_t choice = random() % (kFragments.size() + 4);
    if (choice < kFragments.size()) {
      output += kFragments[choice];
    } else {
      output += choice % 2 == 0 ? kRead : kReadJson;
    }
    const bool is_damaged = random() % 16 == 0 && !output.empty();
    if (is_damaged) output.erase(random() % output.size(), 1);
  }
  return output;
}

std::vector<std::string_view> random_cuts(std::string_view output, std::mt19937& random) {
  std::vector<std::string_view> pieces;
  while (!output.empty()) {
    const size_t n_bytes = std::min<size_t>(output.size(), random() % 9);  // none at times
    pieces.push_back(output.substr(0, n_bytes));
    output.remove_prefix(n_bytes);
  }
  return pieces;
}

TEST(OutputParser, AccountsForEveryByteOfRandomOutputs) {
  std::mt19937 random(2);
  int n_calls = 0;
  for (int round = 0; round < 30'000; ++round) {
    const bool starts_in_reasoning = random() % 2 == 0;
    const std::string output = random_output(random);
    const auto events = parse_pieces(options(starts_in_reasoning), {output});
    ASSERT_EQ(OutputAccount(output, starts_in_reasoning).check(events), "") << output;
    for (const OutputEvent& event : events) n_calls += event.call_index >= 0 ? 1 : 0;
  }
  EXPECT_GT(n_calls, 5000);
}

TEST(OutputParser, GivesTheSameEventsForRandomOutputsHoweverTheyAreCut) {
  std::mt19937 random(3);
  for (int round = 0; round < 30'000; ++round) {
    const auto given = options(random() % 2 == 0);
    const std::string output = random_output(random);
    const auto whole = parse_pieces(given, {output});
    const auto cut = parse_pieces(given, random_cuts(output, random));
    ASSERT_EQ(describe(cut), describe(whole)) << output;
    for (size_t i = 0; i < whole.size(); ++i) {
      ASSERT_EQ(cut[i].begin, whole[i].begin) << output;
      ASSERT_EQ(cut[i].end, whole[i].end) << output;
    }
  }
}

// A call of `n_bytes` bytes.
std::string long_call(size_t n_bytes) {
  const std::string begin = "<tool_call><function=f><parameter=a>";
  const std::string end = "</parameter></function></tool_call>";
  return begin + std::string(n_bytes - begin.size() - end.size(), 'x') + end;
}

TEST(OutputParser, TakesACallOfTheLargestSize) {
  const auto events = parse_pieces(options(false), {long_call(kToolCallBytesMax)});
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, OutputEvent::Kind::kToolCall);
}

TEST(OutputParser, TakesALargerCallAsContentHoweverItIsCut) {
  const std::string output = long_call(kToolCallBytesMax + 1) + kRead;
  for (const auto& pieces : {std::vector<std::string_view>{output}, test::bytes_of(output)}) {
    const auto events = parse_pieces(options(false), pieces);
    ASSERT_EQ(events.size(), 2U);
    EXPECT_EQ(events[0].text, output.substr(0, kToolCallBytesMax + 1));
    EXPECT_EQ(events[1].call.name, "read");
  }
}

std::string repeat(const std::string& text, size_t n_bytes) {
  std::string repeated;
  while (repeated.size() < n_bytes) repeated += text;
  return repeated;
}

double seconds_by_byte(const std::string& output) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(
      OutputAccount(output, false).check(parse_pieces(options(false), test::bytes_of(output))), "");
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Quadratic time would be hours.
TEST(OutputParser, TakesLinearTimeForHostileOutputsByteByByte) {
  constexpr size_t kBytes = 1 << 20;
  constexpr double kSecondsMax = 60;
  const std::string open = "<tool_call><function=f><parameter=a>";
  const std::string gap(kTagGapBytesMax, ' ');
  for (const std::string& output :
       {repeat("<tool_call>", kBytes), repeat("<tool_call>{\"", kBytes), repeat(open, kBytes),
        repeat("\n", kBytes), open + repeat("</parameter>" + gap, kBytes),
        open + repeat("</parameter></function></tool_call", kBytes),
        open + repeat("<tool_call>" + gap, kBytes), open + repeat("<", kBytes),
        "<tool_call>{" + repeat("\"name\": \"<tool_call>{\",", kBytes),
        "<tool_call>{\"name\":" + repeat("[", kBytes), "<think>" + repeat("\n</thin", kBytes)}) {
    EXPECT_LT(seconds_by_byte(output), kSecondsMax) << output.substr(0, 100);
  }
}

}  // namespace
}  // namespace slip
