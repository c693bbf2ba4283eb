#include "app/command_line.h"

#include <vector>

#include <gtest/gtest.h>

#include "app/testing/embedded_model.h"
#include "backend/testing/random_model.h"
#include "base/testing/expect_error.h"
#include "io/testing/temporary_folder.h"

namespace slip {
namespace {

int run(std::vector<std::string> arguments) {
  std::vector<const char*> argv = {"slipstream"};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  return run_command_line(static_cast<int>(argv.size()), argv.data());
}

// What a user may get wrong, and words that the one sentence has to contain.
struct Mistake {
  const char* name;
  std::vector<std::string> arguments;
  ErrorCode code;
  const char* words;
};

void PrintTo(const Mistake& mistake, std::ostream* out) { *out << mistake.name; }

using enum ErrorCode;
const std::vector<Mistake> kMistakes = {
    {"NoCommand", {}, kInvalidArgument, "subcommand is required"},
    {"UnknownCommand", {"dance"}, kInvalidArgument, "dance"},
    {"UnknownFlag",
     {"generate", "--model", test::kEmbeddedModel, "--prompt", "x", "--fast"},
     kInvalidArgument,
     "--fast"},
    {"NoModel", {"generate", "--prompt", "x"}, kInvalidArgument, "--model"},
    {"NoPrompt", {"generate", "--model", test::kEmbeddedModel}, kInvalidArgument, "--prompt"},
    {"TwoPrompts",
     {"generate", "--model", test::kEmbeddedModel, "--prompt", "x", "--prompt-file", "y"},
     kInvalidArgument,
     "--prompt"},
    {"EmptyPrompt",
     {"generate", "--model", test::kEmbeddedModel, "--prompt", ""},
     kInvalidArgument,
     "empty"},
    {"MissingFolder",
     {"generate", "--model", "no/such/folder", "--prompt", "x"},
     kNotFound,
     "no/such/folder"},
    {"MissingPromptFile",
     {"generate", "--model", test::kEmbeddedModel, "--prompt-file", "no-such-file"},
     kNotFound,
     "no-such-file"},
    {"PromptFileIsAFolder",
     {"generate", "--model", test::kEmbeddedModel, "--prompt-file", "/tmp"},
     kInvalidArgument,
     "/tmp"},
    {"UnknownDevice",
     {"generate", "--model", test::kEmbeddedModel, "--prompt", "x", "--device", "tpu"},
     kInvalidArgument,
     "wanted one of: cpu"},
    {"UnknownSource",
     {"generate", "--model", test::kEmbeddedModel, "--prompt", "x", "--draft", "magic"},
     kInvalidArgument,
     "none, mtp, copy, auto"},
    {"DepthTooLarge",
     {"generate", "--model", test::kEmbeddedModel, "--prompt", "x", "--depth", "32"},
     kInvalidArgument,
     "32"},
    {"DepthNoNumber",
     {"generate", "--model", test::kEmbeddedModel, "--prompt", "x", "--depth", "deep"},
     kInvalidArgument,
     "deep"},
    {"EmptyDepth",
     {"generate", "--model", test::kEmbeddedModel, "--prompt", "x", "--depth", ""},
     kInvalidArgument,
     "--depth: found \"\", wanted a whole number from 0 to 31"},
    {"NoBits",
     {"convert", "--model", test::kEmbeddedModel, "--out", "x", "--bits", ""},
     kInvalidArgument,
     "--bits: found \"\", wanted one of 4, 8"},
    {"BitsThatNoFormatHas",
     {"convert", "--model", test::kEmbeddedModel, "--out", "x", "--bits", "7"},
     kInvalidArgument,
     "--bits: found \"7\", wanted one of 4, 8"},
    {"NoNumberForALimit",
     {"convert", "--model", test::kEmbeddedModel, "--out", "x", "--bits", "8", "--max-kl", "nan"},
     kInvalidArgument,
     "--max-kl: found \"nan\", wanted a number from 0 to 1000000"},
    {"LimitOutOfRange",
     {"convert", "--model", test::kEmbeddedModel, "--out", "x", "--bits", "8", "--min-agreement",
      "1.5"},
     kInvalidArgument,
     "--min-agreement: found \"1.5\", wanted a number from 0 to 1"},
    {"NegativeMaxTokens",
     {"generate", "--model", test::kEmbeddedModel, "--prompt", "x", "--max-tokens", "-1"},
     kInvalidArgument,
     "-1"},
    {"NegativeSeed",
     {"generate", "--model", test::kEmbeddedModel, "--prompt", "x", "--seed", "-1"},
     kInvalidArgument,
     "-1"},
    {"TemperatureThatIsNoNumber",
     {"generate", "--model", test::kEmbeddedModel, "--prompt", "x", "--temperature", "nan"},
     kInvalidArgument,
     "--temperature: found \"nan\", wanted a number from 0 to 100"},
    {"TopPOfNothing",
     {"generate", "--model", test::kEmbeddedModel, "--prompt", "x", "--top-p", "0"},
     kInvalidArgument,
     "--top-p: found \"0\""},
    {"LogitBiasWithoutABias",
     {"generate", "--model", test::kEmbeddedModel, "--prompt", "x", "--logit-bias", "9"},
     kInvalidArgument,
     "--logit-bias: found \"9\", wanted ID=BIAS"},
    {"LogitBiasThatIsTooLarge",
     {"generate", "--model", test::kEmbeddedModel, "--prompt", "x", "--logit-bias", "9=1000"},
     kInvalidArgument,
     "logit_bias: found 1000, wanted at least -100"},
    {"LogitBiasOfNoToken",
     {"generate", "--model", test::kEmbeddedModel, "--prompt", "x", "--logit-bias", "999999=1"},
     kInvalidArgument,
     "logit_bias: found token 999999"},
    {"UnknownAcceptRule",
     {"generate", "--model", test::kEmbeddedModel, "--prompt", "x", "--accept", "all"},
     kInvalidArgument,
     "--accept: found \"all\", wanted one of: exact, block, typical, cascade"},
    {"EmptyStopText",
     {"generate", "--model", test::kEmbeddedModel, "--prompt", "x", "--stop", ""},
     kInvalidArgument,
     "stop string"},
    {"TooManyLogprobs",
     {"generate", "--model", test::kEmbeddedModel, "--prompt", "x", "--logprobs", "21"},
     kInvalidArgument,
     "--logprobs: found \"21\""},
    {"MoreThanTheContext",
     {"generate", "--model", test::kEmbeddedModel, "--prompt", "x", "--context", "100",
      "--max-tokens", "1000"},
     kInvalidArgument,
     "wanted at most 99"},
    {"ContextBeyondTheModel",
     {"generate", "--model", test::kEmbeddedModel, "--prompt", "x", "--context", "1000000"},
     kInvalidArgument,
     "262144"},
    {"TooManyThreads",
     {"generate", "--model", test::kEmbeddedModel, "--prompt", "x", "--threads", "257"},
     kInvalidArgument,
     "257"},
    {"UnknownKernels",
     {"generate", "--model", test::kEmbeddedModel, "--prompt", "x", "--kernels", "mmx"},
     kInvalidArgument,
     "mmx"},
    {"UnknownKvType",
     {"generate", "--model", test::kEmbeddedModel, "--prompt", "x", "--kv-type", "q8"},
     kInvalidArgument,
     "--kv-type: found \"q8\", wanted f32, f16 or bf16"},
    {"SeedTooLarge",
     {"generate", "--model", test::kEmbeddedModel, "--prompt", "x", "--seed",
      "18446744073709551616"},
     kInvalidArgument,
     "2^64 - 1"},
    {"PromptLongerThanTheContext",
     {"generate", "--model", test::kEmbeddedModel, "--prompt", "one two three", "--context", "2"},
     kInvalidArgument,
     "--context: found 2"},
    {"EmptyModelPath",
     {"generate", "--model", "", "--prompt", "x"},
     kInvalidArgument,
     "empty path"},
    {"EmptyPromptPath",
     {"generate", "--model", test::kEmbeddedModel, "--prompt-file", ""},
     kInvalidArgument,
     "empty path"},
    {"OutIntoTheModel",
     {"logits", "--model", test::kEmbeddedModel, "--tokens", "1", "--out",
      test::kEmbeddedModel + "/x"},
     kInvalidArgument,
     "outside the model"},
    {"OutIsADevice",
     {"logits", "--model", test::kEmbeddedModel, "--tokens", "1", "--out", "/dev/null"},
     kInvalidArgument,
     "not a regular file"},
    {"TokensBeyondTheContext",
     {"logits", "--model", test::kEmbeddedModel, "--tokens", "1,2,3", "--context", "2", "--out",
      "x"},
     kInvalidArgument,
     "--context: found 2, wanted at least 3"},
    {"NoTokens",
     {"logits", "--model", test::kEmbeddedModel, "--out", "x"},
     kInvalidArgument,
     "--tokens"},
    {"TokenNoNumber",
     {"logits", "--model", test::kEmbeddedModel, "--tokens", "1,two", "--out", "x"},
     kInvalidArgument,
     "two"},
    {"TokenOutsideTheVocabulary",
     {"logits", "--model", test::kEmbeddedModel, "--tokens", "8192", "--out", "x"},
     kInvalidArgument,
     "8191"},
    {"NegativeToken",
     {"logits", "--model", test::kEmbeddedModel, "--tokens=-1", "--out", "x"},
     kInvalidArgument,
     "-1"},
    {"FromBeyondTheEnd",
     {"logits", "--model", test::kEmbeddedModel, "--tokens", "1,2", "--from", "2", "--out", "x"},
     kInvalidArgument,
     "--from"},
    {"ThirtyThreeRows",
     {"logits", "--model", test::kEmbeddedModel, "--tokens", "1,2", "--rows", "33", "--out", "x"},
     kInvalidArgument,
     "33"},
    {"RowsWithDraftHead",
     {"logits", "--model", test::kEmbeddedModel, "--tokens", "1,2", "--rows", "2", "--mtp", "--out",
      "x"},
     kInvalidArgument,
     "--rows 1"},
    {"OutCannotBeWritten",
     {"logits", "--model", test::kEmbeddedModel, "--tokens", "1,2", "--out", "no/such/folder/x"},
     kInvalidArgument,
     "no/such/folder"},
    {"MissingReference",
     {"compare", "--model", test::kEmbeddedModel, "--prompt", "x", "--reference", "no-such-file"},
     kNotFound,
     "no-such-file"},
    {"UnknownCachedModel",
     {"inspect", "no-such-org/no-such-model"},
     kNotFound,
     "models--no-such-org--no-such-model"},
    {"InspectOfNothing", {"inspect"}, kInvalidArgument, "model"},
    {"InspectBeyondTheModelsContext",
     {"inspect", test::kEmbeddedModel, "--context", "1000000"},
     kInvalidArgument,
     "262144"},
    {"ConvertWithoutBits",
     {"convert", "--model", test::kEmbeddedModel, "--out", "x"},
     kInvalidArgument,
     "--bits"},
    {"ConvertToFiveBits",
     {"convert", "--model", test::kEmbeddedModel, "--out", "x", "--bits", "5"},
     kInvalidArgument,
     "5"},
    {"ConvertWithAnOddGroup",
     {"convert", "--model", test::kEmbeddedModel, "--out", "x", "--bits", "4", "--group-size",
      "48"},
     kInvalidArgument,
     "48"},
    {"ConvertWithoutAPlace",
     {"convert", "--model", test::kEmbeddedModel, "--bits", "4"},
     kInvalidArgument,
     "--out"},
    {"ConvertOntoADevice",
     {"convert", "--model", test::kEmbeddedModel, "--out", "/dev/full", "--bits", "4"},
     kInvalidArgument,
     "/dev/full"},
    {"ConvertWhereNothingCanBeWritten",
     {"convert", "--model", test::kEmbeddedModel, "--out", "/proc/x", "--bits", "4"},
     kInvalidArgument,
     "cannot be created"},
    {"ConvertOntoTheSource",
     {"convert", "--model", test::kEmbeddedModel, "--out", test::kEmbeddedModel, "--bits", "4"},
     kInvalidArgument,
     "empty folder"},
    {"ConvertWithHalfAnOverride",
     {"convert", "--model", test::kEmbeddedModel, "--out", "x", "--bits", "4", "--override",
      "*.mlp"},
     kInvalidArgument,
     "PATTERN=BITS"},
    {"ConvertWithANegativeLimit",
     {"convert", "--model", test::kEmbeddedModel, "--out", "x", "--bits", "4", "--max-kl", "-1"},
     kInvalidArgument,
     "-1"},
    {"ConvertWithAgreementInPerCent",
     {"convert", "--model", test::kEmbeddedModel, "--out", "x", "--bits", "4", "--min-agreement",
      "95"},
     kInvalidArgument,
     "95"},
    {"ConvertWithoutItsText",
     {"convert", "--model", test::kEmbeddedModel, "--out", "x", "--bits", "4", "--eval-file",
      "no-such-file"},
     kNotFound,
     "no-such-file"},
    {"EvalWithoutAText", {"eval", "--model", test::kEmbeddedModel}, kInvalidArgument, "--file"},
    {"EvalOfAMissingText",
     {"eval", "--model", test::kEmbeddedModel, "--file", "no-such-file"},
     kNotFound,
     "no-such-file"},
    {"EvalOfAFolder",
     {"eval", "--model", test::kEmbeddedModel, "--file", "."},
     kInvalidArgument,
     ".: not a regular file"},
    {"ConvertJudgedByAFolder",
     {"convert", "--model", test::kEmbeddedModel, "--out", "x", "--bits", "4", "--eval-file", "."},
     kInvalidArgument,
     ".: not a regular file"},
    {"TokensFileIsAFolder",
     {"logits", "--model", test::kEmbeddedModel, "--tokens-file", ".", "--out", "x"},
     kInvalidArgument,
     ".: not a regular file"},
    {"BenchDeltaNetOfNoShape",
     {"bench", "delta-net", "--shape", "16x48"},
     kInvalidArgument,
     "--shape: found \"16x48\""},
    {"BenchDeltaNetWithTooManyFolded",
     {"bench", "delta-net", "--folded", "32"},
     kInvalidArgument,
     "wanted a whole number from 0 to 31"},
    {"BenchStepOfAnUnknownShape",
     {"bench", "step", "--model-shape", "gpt"},
     kInvalidArgument,
     "--model-shape: found \"gpt\""},
    {"BenchStepInAnUnknownFormat",
     {"bench", "step", "--format", "q3"},
     kInvalidArgument,
     "wanted q8, q4, bf16 or fp8"},
    {"BenchCompareWithOneSetting",
     {"bench", "compare", "--model", test::kEmbeddedModel, "--file",
      test::kEmbeddedModel + "/README.md"},
     kInvalidArgument,
     "--against-...: found none"},
    {"BenchCompareWithAnUnknownCacheType",
     {"bench", "compare", "--model", test::kEmbeddedModel, "--file", "x", "--against-kv-type",
      "f64"},
     kInvalidArgument,
     "--against-kv-type"},
    {"EvalAgainstNothing",
     {"eval", "--model", test::kEmbeddedModel, "--file", test::kEmbeddedModel + "/README.md",
      "--against", "no/such/folder"},
     kNotFound,
     "no/such/folder"},
    {"EvalAgainstUnknownKernels",
     {"eval", "--model", test::kEmbeddedModel, "--file", test::kEmbeddedModel + "/README.md",
      "--against-kernels", "mmx"},
     kInvalidArgument,
     "mmx"},
    {"EvalInAWindowOfOne",
     {"eval", "--model", test::kEmbeddedModel, "--file", test::kEmbeddedModel + "/README.md",
      "--window", "1"},
     kInvalidArgument,
     "--window: found 1"},
    {"EvalWithTooWideAStride",
     {"eval", "--model", test::kEmbeddedModel, "--file", test::kEmbeddedModel + "/README.md",
      "--window", "8", "--stride", "8"},
     kInvalidArgument,
     "--stride: found 8"},
};

class CommandLineMistake : public testing::TestWithParam<Mistake> {};

TEST_P(CommandLineMistake, IsRefusedWithOneSentence) {
  EXPECT_TRUE(
      test::fails_with(GetParam().code, GetParam().words, [] { run(GetParam().arguments); }));
}

INSTANTIATE_TEST_SUITE_P(All, CommandLineMistake, testing::ValuesIn(kMistakes),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(CommandLine, PrintsItsVersion) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(run({"--version"}), 0);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "slipstream " SLIP_VERSION "\n");
}

TEST(CommandLine, HelpNamesEveryCommand) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(run({"--help"}), 0);
  const std::string help = testing::internal::GetCapturedStdout();
  for (const char* command :
       {"generate", "compare", "logits", "inspect", "tune", "convert", "eval"})
    EXPECT_NE(help.find(command), std::string::npos) << command;
}

TEST(CommandLine, RefusesTheDraftHeadOfAModelWithoutOne) {
  const RandomModelFolder folder({.has_draft_head = false});
  const test::TemporaryFolder out_folder;
  const std::string out = (out_folder.path() / "out").string();
  EXPECT_TRUE(test::fails_with(ErrorCode::kInvalidArgument, "no draft head", [&] {
    run({"logits", "--model", folder.path().string(), "--tokens", "1,2", "--mtp", "--out", out});
  }));
}

TEST(CommandLine, RefusesChatWithoutATemplate) {
  const test::TemporaryFolder folder;
  std::filesystem::copy(test::kEmbeddedModel, folder.path(),
                        std::filesystem::copy_options::recursive);
  std::filesystem::remove(folder.path() / "chat_template.jinja");
  EXPECT_TRUE(test::fails_with(ErrorCode::kInvalidArgument, "no chat template", [&] {
    run({"generate", "--model", folder.path().string(), "--chat", "--prompt", "x"});
  }));
}

}  // namespace
}  // namespace slip
