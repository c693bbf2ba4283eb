#include "io/model_file.h"

#include <vector>

#include <gtest/gtest.h>

#include "base/testing/expect_error.h"
#include "io/testing/temporary_folder.h"

namespace slip {
namespace {

using test::fails_with;
using test::TemporaryFolder;

constexpr std::string_view kIndex = "model.safetensors.index.json";

void write_shard(const TemporaryFolder& folder, const std::string& file_name,
                 const std::vector<std::string>& tensor_names) {
  static constexpr std::byte kData[2] = {std::byte{1}, std::byte{2}};
  std::vector<NamedTensor> tensors;
  for (const std::string& name : tensor_names) {
    tensors.push_back({name, {DType::kU8, {2}, kData, 2}});
  }
  write_safetensors(folder.path() / file_name, tensors);
}

// A folder with a configuration and two shards: "one" holds a and b, "two" holds c.
struct ShardedModel {
  TemporaryFolder folder;

  ShardedModel() {
    folder.write("config.json", R"({"model_type": "test"})");
    write_shard(folder, "one", {"a", "b"});
    write_shard(folder, "two", {"c"});
    write_index(R"({"a": "one", "b": "one", "c": "two"})");
  }
  void write_index(const std::string& weight_map) const {
    folder.write(kIndex, "{\"weight_map\": " + weight_map + "}");
  }
  ModelFile open() const { return ModelFile::open(folder.path()); }
  testing::AssertionResult is_refused(ErrorCode code, std::string_view words) const {
    return fails_with(code, words, [this] { open(); });
  }
};

// The numbers are those of the index, which another program wrote.
TEST(ModelFile, OpensTheEmbeddedModel) {
  const auto folder = std::filesystem::path(SLIP_SOURCE_DIR) / "models/tiny-coder";
  const ModelFile model = ModelFile::open(folder);
  EXPECT_EQ(model.tensors().size(), 241u);
  EXPECT_EQ(model.n_bytes(), 28'830'816u);
  EXPECT_EQ(model.config()["model_type"], "qwen3_5");
  EXPECT_EQ(model.tokenizer_json(), folder / "tokenizer.json");
  EXPECT_EQ(model.chat_template(), folder / "chat_template.jinja");
  EXPECT_EQ(model.generation_config(), folder / "generation_config.json");
}

TEST(ModelFile, JoinsTheShardsOfAnIndex) {
  const ModelFile model = ShardedModel().open();
  ASSERT_EQ(model.tensors().size(), 3u);
  EXPECT_EQ(model.tensors().at("c").data[1], std::byte{2});
  EXPECT_EQ(model.n_bytes(), 6u);
}

TEST(ModelFile, StaysValidWhenMoved) {
  ModelFile opened = ShardedModel().open();
  const ModelFile model = std::move(opened);
  EXPECT_EQ(model.tensors().at("a").data[0], std::byte{1});
}

TEST(ModelFile, PrefersASingleFile) {
  const ShardedModel sharded;
  write_shard(sharded.folder, "model.safetensors", {"only"});
  const ModelFile model = sharded.open();
  EXPECT_EQ(model.tensors().size(), 1u);
  EXPECT_TRUE(model.tensors().contains("only"));
}

TEST(ModelFile, JoinsASideCarThatTheIndexDoesNotName) {
  const ShardedModel sharded;
  write_shard(sharded.folder, "mtp.safetensors", {"mtp.norm"});
  const ModelFile model = sharded.open();
  ASSERT_EQ(model.tensors().size(), 4u);
  EXPECT_EQ(model.tensors().at("mtp.norm").data[1], std::byte{2});
}

TEST(ModelFile, JoinsASideCarToASingleFile) {
  const ShardedModel sharded;
  write_shard(sharded.folder, "model.safetensors", {"only"});
  write_shard(sharded.folder, "mtp.safetensors", {"mtp.norm"});
  EXPECT_EQ(sharded.open().tensors().size(), 2u);
}

TEST(ModelFile, ReadsASideCarThatTheIndexNamesOnce) {
  const ShardedModel sharded;
  write_shard(sharded.folder, "mtp.safetensors", {"mtp.norm"});
  sharded.write_index(R"({"a": "one", "c": "two", "mtp.norm": "mtp.safetensors"})");
  EXPECT_EQ(sharded.open().tensors().size(), 4u);
}

TEST(ModelFile, RefusesATensorThatAShardAndTheSideCarHold) {
  const ShardedModel sharded;
  write_shard(sharded.folder, "mtp.safetensors", {"b"});
  EXPECT_TRUE(sharded.is_refused(ErrorCode::kCorruptFile, "tensor \"b\" is in another shard too"));
}

TEST(ModelFile, GivesEmptyPathsForFilesThatAreNotThere) {
  const ModelFile model = ShardedModel().open();
  EXPECT_TRUE(model.tokenizer_json().empty());
  EXPECT_TRUE(model.chat_template().empty());
  EXPECT_TRUE(model.generation_config().empty());
}

TEST(ModelFile, NamesTheFileThatIsMissing) {
  for (const char* missing : {"config.json", "two", "model.safetensors.index.json"}) {
    const ShardedModel sharded;
    std::filesystem::remove(sharded.folder.path() / missing);
    EXPECT_TRUE(sharded.is_refused(ErrorCode::kNotFound, missing)) << missing;
  }
}

// A snapshot of the Hugging Face cache whose blobs are gone.
TEST(ModelFile, NamesALinkThatLeadsNowhere) {
  const TemporaryFolder folder;
  folder.write("config.json", "{}");
  std::filesystem::create_symlink("../../blobs/0123", folder.path() / "model.safetensors");
  std::filesystem::create_symlink("../../blobs/4567", folder.path() / "tokenizer.json");
  EXPECT_TRUE(fails_with(ErrorCode::kNotFound,
                         "model.safetensors: cannot be opened: a link to \"../../blobs/0123\"",
                         [&] { ModelFile::open(folder.path()); }));
  std::filesystem::remove(folder.path() / "model.safetensors");
  write_shard(folder, "model.safetensors", {"a"});
  EXPECT_EQ(ModelFile::open(folder.path()).tokenizer_json(), folder.path() / "tokenizer.json");
}

TEST(ModelFile, SaysThatAFolderIsNotThere) {
  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, "/no/such/model",
                         [] { ModelFile::open("/no/such/model"); }));
}

TEST(ModelFile, RefusesAConfigurationThatIsNotAnObject) {
  const ShardedModel sharded;
  sharded.folder.write("config.json", "[1]");
  EXPECT_TRUE(sharded.is_refused(ErrorCode::kCorruptFile, "config.json: not a JSON object"));
}

TEST(ModelFile, RefusesATensorThatNoShardHolds) {
  const ShardedModel sharded;
  sharded.write_index(R"({"a": "one", "c": "two", "d": "two"})");
  EXPECT_TRUE(sharded.is_refused(ErrorCode::kCorruptFile, "tensor \"d\" is in no shard"));
}

TEST(ModelFile, RefusesATensorThatTwoShardsHold) {
  const ShardedModel sharded;
  write_shard(sharded.folder, "two", {"c", "b"});
  EXPECT_TRUE(sharded.is_refused(ErrorCode::kCorruptFile, "tensor \"b\" is in another shard too"));
}

TEST(ModelFile, RefusesShardNamesThatLeaveTheFolder) {
  for (const char* name :
       {"../one", "/etc/passwd", "x/one", "..", ".", "", "x\\\\one", "one\\u0000"}) {
    const ShardedModel sharded;
    sharded.write_index("{\"a\": \"" + std::string(name) + "\"}");
    EXPECT_TRUE(
        sharded.is_refused(ErrorCode::kCorruptFile, "the shard of \"a\" is not a plain file name"))
        << name;
  }
}

TEST(ModelFile, RefusesAnIndexWithoutAWeightMap) {
  const ShardedModel sharded;
  for (const char* index : {"{}", R"({"weight_map": ["one"]})"}) {
    sharded.folder.write(kIndex, index);
    EXPECT_TRUE(sharded.is_refused(ErrorCode::kCorruptFile, "weight_map is not an object"));
  }
}

TEST(ModelFile, RefusesAShardThatIsAFolder) {
  const ShardedModel sharded;
  std::filesystem::remove(sharded.folder.path() / "two");
  std::filesystem::create_directory(sharded.folder.path() / "two");
  EXPECT_TRUE(sharded.is_refused(ErrorCode::kCorruptFile, "two: not a regular file"));
}

}  // namespace
}  // namespace slip
