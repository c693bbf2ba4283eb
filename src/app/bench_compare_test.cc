#include <filesystem>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "app/commands.h"
#include "app/testing/embedded_model.h"
#include "backend/testing/random_model.h"
#include "base/rng.h"
#include "base/testing/expect_error.h"
#include "io/testing/temporary_folder.h"

namespace slip {
namespace {

// A small random model that reads like the embedded one, and a text for it.
class BenchCompare : public testing::Test {
 protected:
  BenchCompare()
      : model_({.vocab_size = 8192,
                .layers = std::vector<RandomMixer>(8, RandomMixer::kAttention),
                .has_draft_head = false}) {
    std::filesystem::copy_file(test::kEmbeddedModel + "/tokenizer.json",
                               model_.path() / "tokenizer.json");
    std::string text;
    for (uint64_t i = 0; i < 2000; ++i)
      text += static_cast<char>('a' + static_cast<int>(26 * uniform(1, i, Draw::kTest)));
    options_ = {.model = {.model = model_.path().string(), .kernels = "baseline", .n_threads = 1},
                .file = folder_.write("text.txt", text).string(),
                .is_json = true};
  }

  nlohmann::json compared(int wanted_status) const {
    testing::internal::CaptureStdout();
    const int status = run_bench_compare(options_);
    const std::string out = testing::internal::GetCapturedStdout();
    EXPECT_EQ(status, wanted_status) << out;
    return nlohmann::json::parse(out);
  }

  RandomModelFolder model_;
  test::TemporaryFolder folder_;
  BenchCompareOptions options_;
};

TEST_F(BenchCompare, FindsOtherThreadsTheSame) {
  options_.against_threads = 2;
  const nlohmann::json line = compared(0);
  EXPECT_EQ(line["differences"], 0);
  EXPECT_EQ(line["largest_logit_difference"], 0);
  EXPECT_EQ(line["against"], "cpu (baseline, 2 threads), cache bf16, 32 rows");
}

TEST_F(BenchCompare, FindsOtherRowsTheSame) {
  options_.n_rows = 3;
  options_.n_against_rows = 32;
  const nlohmann::json line = compared(0);
  EXPECT_EQ(line["largest_logit_difference"], 0);
  EXPECT_EQ(line["against"], "cpu (baseline, 1 thread), cache bf16, 32 rows");
}

TEST_F(BenchCompare, FailsWhereAnotherChoiceIsNoTie) {
  options_.model.kv_type = "f32";
  options_.against_kv_type = "bf16";
  const nlohmann::json line = compared(1);
  ASSERT_GT(line["differences"], line["ties"]);
  ASSERT_EQ(line["different"].size(), line["differences"]);
  const nlohmann::json& first = line["different"][0];
  EXPECT_NE(first["choice"], first["against_choice"]);
  EXPECT_LE(first["margin"].get<double>() + first["against_margin"].get<double>(),
            2 * line["largest_logit_difference"].get<double>());
}

TEST_F(BenchCompare, RefusesOneSettingAlone) {
  EXPECT_TRUE(test::fails_with(ErrorCode::kInvalidArgument, "--against-...: found none",
                               [&] { run_bench_compare(options_); }));
}

}  // namespace
}  // namespace slip
