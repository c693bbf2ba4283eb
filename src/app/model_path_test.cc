#include "app/model_path.h"

#include <gtest/gtest.h>

#include "base/testing/expect_error.h"
#include "io/testing/temporary_folder.h"

namespace slip {
namespace {

namespace fs = std::filesystem;
using test::fails_with;
using test::TemporaryFolder;

const Environment kAll = {
    .hf_hub_cache = "/a", .hf_home = "/b", .xdg_cache_home = "/c", .home = "/d"};

TEST(HubCache, FollowsTheOrderOfHuggingFace) {
  Environment environment = kAll;
  EXPECT_EQ(hub_cache(environment), "/a");
  environment.hf_hub_cache.reset();
  EXPECT_EQ(hub_cache(environment), "/b/hub");
  environment.hf_home.reset();
  EXPECT_EQ(hub_cache(environment), "/c/huggingface/hub");
  environment.xdg_cache_home.reset();
  EXPECT_EQ(hub_cache(environment), "/d/.cache/huggingface/hub");
  environment.home.reset();
  EXPECT_EQ(hub_cache(environment), std::nullopt);
}

// A cache with org/name: branch main at commit abc, tag v1 at def, a pull request at abc.
class FindModel : public testing::Test {
 protected:
  FindModel() : environment_{.hf_hub_cache = cache_.path().string()} {
    fs::create_directories(entry() / "refs/refs/pr");
    fs::create_directories(entry() / "snapshots/abc");
    fs::create_directories(entry() / "snapshots/def");
    write_ref("main", "abc\n");
    write_ref("v1", "def");
    write_ref("refs/pr/1", "abc");
  }

  fs::path entry() const { return cache_.path() / "models--org--name"; }
  fs::path snapshot(const char* commit) const { return entry() / "snapshots" / commit; }
  void write_ref(const std::string& name, const std::string& commit) {
    cache_.write("models--org--name/refs/" + name, commit);
  }
  fs::path find(const std::string& model) const { return find_model(model, environment_); }
  testing::AssertionResult is_not_found(const std::string& model, const std::string& words) const {
    return fails_with(ErrorCode::kNotFound, words, [&] { find(model); });
  }

  TemporaryFolder cache_;
  Environment environment_;
};

TEST_F(FindModel, TakesAFolderAsItIs) { EXPECT_EQ(find(cache_.path().string()), cache_.path()); }

TEST_F(FindModel, PrefersAFolderToTheCache) {
  const fs::path before = fs::current_path();
  fs::create_directories(cache_.path() / "org/name");
  fs::current_path(cache_.path());
  EXPECT_EQ(find("org/name"), "org/name");
  fs::current_path(before);
}

TEST_F(FindModel, FollowsTheMainBranch) { EXPECT_EQ(find("org/name"), snapshot("abc")); }

TEST_F(FindModel, FollowsATag) { EXPECT_EQ(find("org/name@v1"), snapshot("def")); }

TEST_F(FindModel, FollowsARevisionWithSlashes) {
  EXPECT_EQ(find("org/name@refs/pr/1"), snapshot("abc"));
}

TEST_F(FindModel, TakesACommitByItsName) { EXPECT_EQ(find("org/name@def"), snapshot("def")); }

TEST_F(FindModel, NamesEveryPlaceItLookedAt) {
  EXPECT_TRUE(is_not_found("org/name@v9", "the folder org/name@v9, "));
  EXPECT_TRUE(is_not_found("org/name@v9", (entry() / "refs/v9").string()));
  EXPECT_TRUE(is_not_found("org/name@v9", snapshot("v9").string()));
}

TEST_F(FindModel, NamesTheSnapshotThatABranchPromises) {
  write_ref("main", "gone");
  EXPECT_TRUE(is_not_found("org/name", snapshot("gone").string()));
}

TEST_F(FindModel, NamesTheSnapshotsWhereNoBranchDoes) {
  fs::remove(entry() / "refs/main");
  EXPECT_TRUE(is_not_found("org/name",
                           "the cache has snapshots of it: abc, def; one is named as "
                           "org/name@abc"));
  for (const char* commit : {"a", "b"}) fs::create_directories(snapshot(commit));
  EXPECT_TRUE(is_not_found("org/name", "snapshots of it: a, abc, b, ...; one is"));
}

// --against is looked for, too.
TEST_F(FindModel, NamesNoFlag) {
  try {
    find("org/other");
    FAIL();
  } catch (const Error& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with("found no model \"org/other\""))
        << error.what();
  }
}

TEST_F(FindModel, LooksForNothingButAFolderWhereTheNameIsNoModels) {
  for (const char* model : {"name", "a/b/c", "/org/name", "../name", "org/..", "org/na me",
                            "org/name@../../..", "org/name@", "org/name@/x"}) {
    EXPECT_TRUE(is_not_found(model, "ORG/NAME")) << model;
  }
}

TEST_F(FindModel, RefusesARefThatLeadsOutOfTheCache) {
  for (const char* commit : {"../../..", "", "/etc"}) {
    write_ref("main", commit);
    EXPECT_TRUE(fails_with(ErrorCode::kCorruptFile, "name of a commit", [&] { find("org/name"); }))
        << commit;
  }
}

TEST(FindModelWithoutACache, SaysSo) {
  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, "no variable names a Hugging Face cache",
                         [] { find_model("org/name", {}); }));
}

}  // namespace
}  // namespace slip
