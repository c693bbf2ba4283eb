// What is kept of a measurement between runs, and the command that measures.

#include "app/tuned_cost.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <stdlib.h>

#include "app/commands.h"
#include "app/drafting.h"
#include "app/model_session.h"
#include "app/testing/embedded_model.h"
#include "base/testing/expect_error.h"
#include "io/json_file.h"
#include "io/testing/temporary_folder.h"

namespace slip {
namespace {

CostSurface::Figures some_figures() {
  CostSurface::Figures figures{.context_ms_one_row = 0.001,
                               .context_ms_all_rows = 0.002,
                               .draft_run_ms = 4,
                               .draft_token_ms = 3,
                               .draft_context_ms = 5};
  for (size_t i = 0; i < CostSurface::kKnots; ++i) figures.step_ms[i] = 10 + static_cast<double>(i);
  return figures;
}

TEST(TunedCost, ComesBackAsItWasSaved) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "a" / "b" / "cost.json";
  save_cost(path, "me", some_figures());
  const auto loaded = load_cost(path, "me");
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->step_ms, some_figures().step_ms);
  EXPECT_EQ(loaded->context_ms_one_row, 0.001);
  EXPECT_EQ(loaded->context_ms_all_rows, 0.002);
  EXPECT_EQ(loaded->draft_run_ms, 4);
  EXPECT_EQ(loaded->draft_token_ms, 3);
  EXPECT_EQ(loaded->draft_context_ms, 5);
}

TEST(TunedCost, LeavesNothingBesideTheFile) {
  const test::TemporaryFolder folder;
  save_cost(folder.path() / "cost.json", "me", some_figures());
  const std::filesystem::directory_iterator files(folder.path());
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
}

TEST(TunedCost, IsAbsentWithoutAFile) {
  const test::TemporaryFolder folder;
  testing::internal::CaptureStderr();
  EXPECT_FALSE(load_cost(folder.path() / "cost.json", "me"));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(TunedCost, IgnoresWhatIsAnothers) {
  const test::TemporaryFolder folder;
  save_cost(folder.path() / "cost.json", "you", some_figures());
  EXPECT_FALSE(load_cost(folder.path() / "cost.json", "me"));
}

TEST(TunedCost, IgnoresADamagedFile) {
  const test::TemporaryFolder folder;
  save_cost(folder.path() / "cost.json", "me", some_figures());
  const nlohmann::json good = parse_json(read_text_file(folder.path() / "cost.json"), "cost.json");
  nlohmann::json text = good, negative = good, missing = good, few = good, old = good;
  text["draft_token_ms"] = "3";
  negative["step_ms"][2] = -1;
  missing.erase("context_ms_one_row");
  few["step_ms"].erase(0);
  old["format"] = "slipstream cost 0";
  std::vector<std::string> damaged = {"", "[]", good.dump().substr(0, 40)};
  for (const nlohmann::json& object : {text, negative, missing, few, old})
    damaged.push_back(object.dump());
  for (const std::string& bytes : damaged)
    EXPECT_FALSE(load_cost(folder.write("damaged.json", bytes), "me")) << bytes;
}

TEST(TunedCost, SaysWhichFileCannotBeWritten) {
  const test::TemporaryFolder folder;
  const std::string file = folder.write("file", "in the way").string();
  EXPECT_TRUE(test::fails_with(ErrorCode::kInvalidArgument,
                               file + "/cost.json: cannot be created: Not a directory",
                               [&] { save_cost(file + "/cost.json", "me", some_figures()); }));
}

TEST(TunedCost, LiesInTheCacheFolderOfTheUser) {
  EXPECT_EQ(cost_file({.xdg_cache_home = "/x", .home = "/h"}, "id"), "/x/slipstream/cost/id.json");
  EXPECT_EQ(cost_file({.home = "/h"}, "id"), "/h/.cache/slipstream/cost/id.json");
  EXPECT_EQ(cost_file({.xdg_cache_home = "x", .home = "/h"}, "id"),
            "/h/.cache/slipstream/cost/id.json");
  EXPECT_EQ(cost_file({}, "id"), std::nullopt);
}

TEST(TunedCost, IsKnownByModelAndDevice) {
  const ModelFile file = ModelFile::open(test::kEmbeddedModel);
  const RunnerInfo one{.device = "cpu (avx2, 1 thread)"};
  const RunnerInfo two{.device = "cpu (avx2, 2 threads)"};
  EXPECT_EQ(cost_identity(file, one), cost_identity(ModelFile::open(test::kEmbeddedModel), one));
  EXPECT_NE(cost_identity(file, one), cost_identity(file, two));
  const test::TemporaryFolder folder;
  std::filesystem::copy(test::kEmbeddedModel, folder.path(),
                        std::filesystem::copy_options::recursive);
  EXPECT_NE(cost_identity(file, one), cost_identity(ModelFile::open(folder.path()), one));
}

// XDG_CACHE_HOME for the length of a test.
class CacheFolder {
 public:
  CacheFolder() { setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1); }
  ~CacheFolder() { unsetenv("XDG_CACHE_HOME"); }

 private:
  test::TemporaryFolder folder_;
};

const ModelOptions kTunedModel = {.model = test::kEmbeddedModel, .n_threads = 1};

nlohmann::json tune() {
  testing::internal::CaptureStdout();
  EXPECT_EQ(run_tune({.model = kTunedModel, .is_json = true}), 0);
  return nlohmann::json::parse(testing::internal::GetCapturedStdout());
}

TEST(Tune, MeasuresAndKeepsWhatDraftingStartsFrom) {
  const CacheFolder cache;
  const nlohmann::json object = tune();
  ASSERT_EQ(object["steps"].size(), CostSurface::kKnots);
  EXPECT_GT(object["steps"][0]["short_context_ms"], 0);
  EXPECT_GE(object["steps"][9]["long_context_ms"], object["steps"][9]["short_context_ms"]);
  EXPECT_EQ(object["best_fixed_mtp_depth"].size(), 3u);

  const ModelFile file = ModelFile::open(test::kEmbeddedModel);
  const std::unique_ptr<Runner> runner = load_runner(file, kTunedModel);
  const auto kept =
      load_cost(object["saved_to"].get<std::string>(), cost_identity(file, runner->info()));
  ASSERT_TRUE(kept);
  EXPECT_EQ(find_cost(file, *runner).figures().step_ms, kept->step_ms);
}

TEST(Tune, PrintsATableForPeople) {
  const CacheFolder cache;
  testing::internal::CaptureStdout();
  EXPECT_EQ(run_tune({.model = kTunedModel}), 0);
  const std::string table = testing::internal::GetCapturedStdout();
  for (const char* words : {"\n    32 ", "best fixed depth where 70%", "Kept in "})
    EXPECT_NE(table.find(words), std::string::npos) << words << "\n" << table;
}

TEST(PrepareDrafting, CountsTheMeasurementAsLoading) {
  const CacheFolder cache;
  ModelSession session = load_session(kTunedModel);
  const double before = session.load_ms;
  prepare_drafting({.source = "none"}, session);
  EXPECT_EQ(session.load_ms, before);
  prepare_drafting({.source = "auto"}, session);
  EXPECT_GT(session.load_ms, before);
}

}  // namespace
}  // namespace slip
