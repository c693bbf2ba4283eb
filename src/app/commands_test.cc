// The commands as a user runs them, on the embedded model.

#include "app/commands.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "app/testing/embedded_model.h"
#include "io/json_file.h"
#include "io/mapped_file.h"
#include "io/safetensors.h"
#include "io/testing/temporary_folder.h"

namespace slip {
namespace {

constexpr const char* kEdit =
    "Rename `total` to `amount` in this file.\n\n```python\ndef add(prices):\n    total = 0\n    "
    "for price in prices:\n"
    "        total += price\n    return total\n```";

GenerateOptions edit_options(const std::string& draft) {
  return {.model = {.model = test::kEmbeddedModel, .n_threads = 1},
          .draft = {.source = draft},
          .prompt = {.text = kEdit, .is_chat = true},
          .max_tokens = 60,
          .is_json = true};
}

nlohmann::json generate(const GenerateOptions& options) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(run_generate(options), 0);
  return nlohmann::json::parse(testing::internal::GetCapturedStdout());
}

TEST(Generate, PrintsOneObjectWithEveryField) {
  const nlohmann::json object = generate(edit_options("auto"));
  for (const char* key :
       {"text", "tokens", "prompt_tokens", "completion_tokens", "finish_reason", "stats"}) {
    EXPECT_TRUE(object.contains(key)) << key;
  }
  for (const char* key :
       {"steps", "drafted", "accepted", "tokens_per_step", "accepted_by_source",
        "prefill_tokens_per_second", "decode_tokens_per_second", "time_to_first_token_ms",
        "load_ms", "weight_bytes", "state_bytes", "peak_rss_bytes"}) {
    EXPECT_TRUE(object["stats"].contains(key)) << key;
  }
  EXPECT_GT(object["stats"]["load_ms"], 0);
}

TEST(Generate, CountsAddUp) {
  const nlohmann::json object = generate(edit_options("auto"));
  const nlohmann::json& stats = object["stats"];
  EXPECT_EQ(object["tokens"].size(), object["completion_tokens"]);
  // Every step gives one token of its own beside its drafts, the last one perhaps none: a stop
  // token may be a draft.
  const int n_given = stats["steps"].get<int>() + stats["accepted"].get<int>();
  EXPECT_GE(n_given, object["completion_tokens"].get<int>());
  EXPECT_LE(n_given, object["completion_tokens"].get<int>() + 1);
  EXPECT_EQ(stats["accepted_by_source"]["copy"].get<int>() +
                stats["accepted_by_source"]["mtp"].get<int>(),
            stats["accepted"].get<int>());
  EXPECT_GE(stats["drafted"].get<int>(), stats["accepted"].get<int>());
}

TEST(Generate, SaysLengthWhenItHasToStop) {
  GenerateOptions options = edit_options("copy");
  options.max_tokens = 7;
  const nlohmann::json object = generate(options);
  EXPECT_EQ(object["finish_reason"], "length");
  EXPECT_EQ(object["completion_tokens"], 7);
}

TEST(Generate, LeavesTheStopTokenOutOfTheText) {
  GenerateOptions options = edit_options("auto");
  options.max_tokens = 400;
  const nlohmann::json object = generate(options);
  ASSERT_EQ(object["finish_reason"], "stop");
  EXPECT_EQ(object["text"].get<std::string>().find("<|im_end|>"), std::string::npos);
  EXPECT_EQ(object["tokens"].back(), 8178);
}

TEST(Generate, StreamsTheSameTextAsItPrintsInJson) {
  GenerateOptions options = edit_options("auto");
  const std::string text = generate(options)["text"];
  options.is_json = false;
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_generate(options), 0);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), text);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("tokens per step"), std::string::npos);
}

TEST(Compare, SaysThatBothArmsGaveTheSameTokens) {
  CompareOptions options{.generate = edit_options("auto"), .n_runs = 1};
  testing::internal::CaptureStdout();
  EXPECT_EQ(run_compare(options), 0);
  const std::string output = testing::internal::GetCapturedStdout();
  EXPECT_NE(output.find("Same tokens: all 2 runs gave the same "), std::string::npos) << output;
}

TEST(Compare, CountsLinesAgainstTheReference) {
  const test::TemporaryFolder folder;
  const std::string reference = folder.write("reference", "a line that no answer has").string();
  CompareOptions options{.generate = edit_options("auto"), .reference = reference, .n_runs = 1};
  testing::internal::CaptureStdout();
  EXPECT_EQ(run_compare(options), 0);
  const std::string output = testing::internal::GetCapturedStdout();
  EXPECT_NE(output.find("0 of 1 lines"), std::string::npos) << output;
  EXPECT_NE(output.find("a line that no answer has"), std::string::npos) << output;
}

// What `logits` writes for the first tokens of a text, as the file's bytes.
std::vector<std::byte> logits(LogitsOptions options) {
  const test::TemporaryFolder folder;
  options.model.model = test::kEmbeddedModel;
  options.tokens =
      "[8177, 500, 17,3000 42 42 42 8000 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 "
      "23 24 25 26 27 28]";
  options.out = (folder.path() / "out.safetensors").string();
  EXPECT_EQ(run_logits(options), 0);
  const MappedFile file(options.out);
  return {file.bytes().begin(), file.bytes().end()};
}

TEST(Logits, AreTheSameBytesForEveryWidthOfASegment) {
  const std::vector<std::byte> wanted = logits({.model = {.n_threads = 1}});
  for (int32_t n_rows = 2; n_rows <= 32; ++n_rows) {
    EXPECT_EQ(logits({.model = {.n_threads = 1}, .n_rows = n_rows}), wanted) << n_rows << " rows";
  }
}

TEST(Logits, AreTheSameBytesForEveryNumberOfThreads) {
  const std::vector<std::byte> wanted = logits({.model = {.n_threads = 1}, .n_rows = 9});
  for (int32_t n_threads : {2, 3}) {
    EXPECT_EQ(logits({.model = {.n_threads = n_threads}, .n_rows = 9}), wanted)
        << n_threads << " threads";
  }
}

TEST(Logits, AreTheSameBytesWhereverTheyBegin) {
  const std::vector<std::byte> all = logits({.model = {.n_threads = 1}});
  const std::vector<std::byte> late = logits({.model = {.n_threads = 1}, .from = 30});
  const TensorView from_0 = parse_safetensors(all, "all").at("logits");
  const TensorView from_30 = parse_safetensors(late, "late").at("logits");
  ASSERT_EQ(from_30.shape, (std::vector<int64_t>{from_0.shape[0] - 30, 8192}));
  const std::byte* wanted = from_0.data + 30 * 8192 * sizeof(float);
  EXPECT_TRUE(std::equal(from_30.data, from_30.data + from_30.n_bytes, wanted));
}

TEST(Logits, ComeWithThoseOfTheDraftHeadWhenAsked) {
  const std::vector<std::byte> bytes =
      logits({.model = {.n_threads = 1}, .from = 10, .with_draft_head = true});
  const TensorMap tensors = parse_safetensors(bytes, "out");
  // One entry less: the last token's entry would need the token after it.
  EXPECT_EQ(tensors.at("mtp_logits").shape[0], tensors.at("logits").shape[0] - 1);
}

}  // namespace
}  // namespace slip
