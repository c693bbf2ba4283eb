#include "app/bench_decode.h"

#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "app/commands.h"
#include "app/model_session.h"
#include "app/testing/embedded_model.h"
#include "base/testing/expect_error.h"
#include "io/testing/temporary_folder.h"

namespace slip {
namespace {

TEST(ParseDraft, TakesASourceAndItsDepth) {
  EXPECT_EQ(parse_draft("auto").source, "auto");
  EXPECT_EQ(parse_draft("auto").depth, 0);
  EXPECT_EQ(parse_draft("mtp:2").source, "mtp");
  EXPECT_EQ(parse_draft("mtp:2").depth, 2);
}

TEST(ParseDraft, RefusesADepthThatIsNone) {
  for (const char* text : {"mtp:", "mtp:x", "mtp:0", "mtp:32", "mtp:2x", "mtp:-1", "none:3"}) {
    EXPECT_TRUE(test::fails_with(ErrorCode::kInvalidArgument, "--draft: found", [&] {
      parse_draft(text);
    })) << text;
  }
}

TEST(FindPrompts, TakesThePromptsOfAFolderByName) {
  const test::TemporaryFolder folder;
  for (const char* name : {"b.md", "a.txt", "README.md", "c.py"}) folder.write(name, "x");
  const std::string paths[] = {folder.path().string(), (folder.path() / "c.py").string()};
  std::vector<std::string> names;
  for (const auto& path : find_prompts(paths)) names.push_back(path.filename().string());
  EXPECT_EQ(names, (std::vector<std::string>{"a.txt", "b.md", "c.py"}));
}

TEST(FindPrompts, RefusesPathsWithoutPrompts) {
  const test::TemporaryFolder folder;
  const std::string nowhere[] = {(folder.path() / "none").string()};
  EXPECT_TRUE(test::fails_with(ErrorCode::kNotFound, "none", [&] { find_prompts(nowhere); }));
  const std::string empty[] = {folder.path().string()};
  EXPECT_TRUE(
      test::fails_with(ErrorCode::kInvalidArgument, "--prompts", [&] { find_prompts(empty); }));
}

// The lines of a bench of one short prompt.
std::vector<nlohmann::json> lines_of(BenchDecodeOptions options) {
  const test::TemporaryFolder folder;
  options.model = {.model = test::kEmbeddedModel, .n_threads = 1, .context_tokens = 512};
  options.prompts = {folder.write("count.txt", "def f(a, b):\n    return").string()};
  options.n_runs = 1;
  options.max_tokens = 40;
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_bench_decode(options), 0);
  testing::internal::GetCapturedStderr();
  std::istringstream lines(testing::internal::GetCapturedStdout());
  std::vector<nlohmann::json> all;
  for (std::string line; std::getline(lines, line);) all.push_back(nlohmann::json::parse(line));
  return all;
}

TEST(BenchDecode, PrintsALineForEachSourceAndTemperatureWhoseNumbersAddUp) {
  const auto all =
      lines_of({.drafts = {{.source = "none"}, {.source = "mtp", .depth = 2}, {.source = "auto"}},
                .temperatures = {0, 0.6}});
  ASSERT_EQ(all.size(), 6U);
  const auto sum = [](const nlohmann::json& list) {
    int total = 0;
    for (const nlohmann::json& value : list) total += value.get<int>();
    return total;
  };
  for (const nlohmann::json& line : all) {
    EXPECT_EQ(line["workload"], "count");
    EXPECT_EQ(sum(line["drafted_by_position"]), line["drafted"].get<int>());
    EXPECT_EQ(sum(line["accepted_by_position"]), line["accepted"].get<int>());
  }
  EXPECT_EQ(all[0]["tokens_hash"], all[1]["tokens_hash"]);
  EXPECT_EQ(all[1]["depth"], 2);
  EXPECT_GT(all[1]["drafted"].get<int>(), 0);
  EXPECT_EQ(all[5]["temperature"], 0.6);
}

TEST(BenchDecode, DividesTheReadRateByWhatAPlainStepReads) {
  const auto lines = lines_of({.drafts = {{.source = "none"}}, .temperatures = {0}});
  ASSERT_EQ(lines.size(), 1U);
  const nlohmann::json& line = lines[0];
  const auto session = load_session({.model = test::kEmbeddedModel, .n_threads = 1});
  const RunnerInfo& info = session.runner->info();
  const double context =
      line["prompt_tokens"].get<double>() + line["completion_tokens"].get<double>() / 2;
  const auto bytes = line["plain_step_bytes"].get<double>();
  EXPECT_DOUBLE_EQ(bytes, static_cast<double>(info.step_weight_bytes) +
                              context * static_cast<double>(info.step_cache_bytes_per_token));
  const auto rate = line["read_gb_per_second"].get<double>();
  EXPECT_GT(rate, 0);
  EXPECT_NEAR(line["plain_floor_tokens_per_second"].get<double>() * bytes / 1e9, rate, 1e-9 * rate);
}

TEST(BenchDecode, ReplaysTheTokensOfTheFirstSource) {
  const auto lines = lines_of({.drafts = {{.source = "none"}, {.source = "replay"}},
                               .replay_errors = 0,
                               .temperatures = {1}});
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[1]["tokens_hash"], lines[0]["tokens_hash"]);
  EXPECT_GT(lines[1]["accepted"].get<int>(), 0);
  EXPECT_EQ(lines[1]["accepted"], lines[1]["drafted"]);
}

TEST(BenchDecode, MakesTheGivenShareOfAReplayWrong) {
  const auto lines = lines_of({.drafts = {{.source = "none"}, {.source = "replay", .depth = 1}},
                               .replay_errors = 1,
                               .temperatures = {0}});
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_GT(lines[1]["drafted"].get<int>(), 0);
  EXPECT_EQ(lines[1]["accepted"], 0);
}

TEST(BenchDecode, RefusesAReplayOfNothing) {
  const test::TemporaryFolder folder;
  const BenchDecodeOptions options{
      .model = {.model = test::kEmbeddedModel, .n_threads = 1, .context_tokens = 512},
      .prompts = {folder.write("count.txt", "x").string()},
      .drafts = {{.source = "replay"}}};
  EXPECT_TRUE(test::fails_with(ErrorCode::kInvalidArgument, "--draft: found replay first",
                               [&] { run_bench_decode(options); }));
}

}  // namespace
}  // namespace slip
