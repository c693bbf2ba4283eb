// Speculation is invisible: sixteen prompts, every source, every depth, the same tokens as plain
// decoding.

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "app/answer.h"
#include "test_device.h"

namespace slip {
namespace {

const std::filesystem::path kPrompts = source_root() / "examples/prompts";
// Sanitizers look for other mistakes than a wrong token and make everything ten times as slow.
#if defined(SLIP_SANITIZED)
constexpr int32_t kTokensMax = 32;
constexpr uintmax_t kPromptBytesMax = 1000;
constexpr int32_t kCutStep = 24;
constexpr int32_t kDepthStep = 5;
constexpr int32_t kCopyDepths[] = {31};
#else
constexpr int32_t kTokensMax = 160;
constexpr uintmax_t kPromptBytesMax = UINTMAX_MAX;
constexpr int32_t kCutStep = 1;
constexpr int32_t kDepthStep = 1;
constexpr int32_t kCopyDepths[] = {1, 2, 4, 7, 8, 15, 16, 31};
#endif

// Loaded once: loading is not what is tested here.
const ModelSession& session() {
  static const ModelSession kSession =
      load_session({.model = (source_root() / "models/tiny-coder").string(),
                    .device = test_device(),
                    .n_threads = 1,
                    .context_tokens = 8192});
  return kSession;
}

std::vector<DraftOptions> draft_options() {
  std::vector<DraftOptions> all;
  for (int32_t depth = 1; depth <= 8; depth += kDepthStep)
    all.push_back({.source = "mtp", .depth = depth});
  for (const int32_t depth : kCopyDepths) all.push_back({.source = "copy", .depth = depth});
  all.push_back({.source = "auto"});
  return all;
}

std::vector<TokenId> answer_tokens(const GenerateRequest& request, const DraftOptions& options) {
  const Drafting drafting = make_drafting(options, *session().runner);
  return answer(session(), drafting, request, /*is_streamed=*/false).tokens;
}

std::vector<std::filesystem::path> prompt_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(kPrompts)) {
    if (entry.path().filename() != "README.md") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::filesystem::path> tested_files() {
  std::vector<std::filesystem::path> files = prompt_files();
  std::erase_if(files, [](const auto& file) { return file_size(file) > kPromptBytesMax; });
  return files;
}

class Exactness : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(Exactness, EverySourceAndDepthGivesTheTokensOfPlainDecoding) {
  const bool is_chat = GetParam().extension() == ".md";
  GenerateRequest request{
      .prompt = read_prompt(session(), {.file = GetParam().string(), .is_chat = is_chat}),
      .max_tokens = kTokensMax,
      .stop_ids = session().stop_ids};
  const std::vector<TokenId> wanted = answer_tokens(request, {.source = "none"});
  for (const DraftOptions& options : draft_options()) {
    EXPECT_EQ(answer_tokens(request, options), wanted)
        << options.source << ", depth " << options.depth;
  }
}

INSTANTIATE_TEST_SUITE_P(Prompts, Exactness, testing::ValuesIn(tested_files()),
                         [](const auto& test) {
                           std::string name = test.param.stem().string();
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(ExactnessPrompts, AreEightEditsAndEightContinuations) {
  std::map<std::string, int> n_of;
  for (const std::filesystem::path& file : prompt_files()) ++n_of[file.extension().string()];
  EXPECT_EQ(n_of[".md"], 8);
  EXPECT_EQ(n_of[".txt"], 8);
}

// A cut must fall on the same token wherever the drafts happened to lie.
TEST(ExactnessLimits, MaxTokensCutsAnAcceptedRunExactly) {
  GenerateRequest request{
      .prompt =
          read_prompt(session(), {.file = (kPrompts / "08-repeat.md").string(), .is_chat = true}),
      .max_tokens = 48,
      .stop_ids = session().stop_ids};
  const std::vector<TokenId> wanted = answer_tokens(request, {.source = "none"});
  for (int32_t n = 1; n <= 48; n += kCutStep) {
    request.max_tokens = n;
    const std::vector<TokenId> found = answer_tokens(request, {.source = "copy"});
    EXPECT_EQ(found, std::vector<TokenId>(wanted.begin(), wanted.begin() + n)) << n;
  }
}

TEST(ExactnessLimits, AStopTokenInsideAnAcceptedRunCutsExactly) {
  GenerateRequest request{
      .prompt =
          read_prompt(session(), {.file = (kPrompts / "08-repeat.md").string(), .is_chat = true}),
      .max_tokens = 64};
  const std::vector<TokenId> wanted = answer_tokens(request, {.source = "none"});
  for (size_t i = 0; i < wanted.size(); i += 3 * kCutStep) {
    request.stop_ids = {wanted[i]};
    const auto first = std::find(wanted.begin(), wanted.end(), wanted[i]);
    EXPECT_EQ(answer_tokens(request, {.source = "copy"}),
              std::vector<TokenId>(wanted.begin(), first + 1))
        << i;
  }
}

}  // namespace
}  // namespace slip
