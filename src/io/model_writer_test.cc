#include "io/model_writer.h"

#include <algorithm>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "base/testing/expect_error.h"
#include "io/model_file.h"
#include "io/testing/file_size_limit.h"
#include "io/testing/temporary_folder.h"

namespace slip {
namespace {

using test::fails_with;
using test::TemporaryFolder;

TensorSpec bytes_of(std::string name, int64_t n) { return {std::move(name), DType::kU8, {n}}; }

std::vector<size_t> counts(const std::vector<TensorSpec>& tensors, size_t shard_bytes_max) {
  std::vector<size_t> result;
  for (const auto shard : plan_shards(tensors, shard_bytes_max)) result.push_back(shard.size());
  return result;
}

TEST(PlanShards, FillsEachBeforeTheNext) {
  const std::vector<TensorSpec> tensors = {bytes_of("a", 4), bytes_of("b", 6), bytes_of("c", 1),
                                           bytes_of("d", 9), bytes_of("e", 1)};
  EXPECT_EQ(counts(tensors, 10), (std::vector<size_t>{2, 2, 1}));
}

TEST(PlanShards, GivesATensorBeyondTheLimitAShardOfItsOwn) {
  const std::vector<TensorSpec> tensors = {bytes_of("a", 4), bytes_of("b", 60), bytes_of("c", 1)};
  EXPECT_EQ(counts(tensors, 10), (std::vector<size_t>{1, 1, 1}));
}

TEST(PlanShards, HoldsNoTensorsInOneShard) { EXPECT_EQ(counts({}, 10), (std::vector<size_t>{0})); }

// A folder written tensor by tensor: tensor i holds bytes i, i + 1, ...
void write_folder(const TemporaryFolder& folder, const std::vector<TensorSpec>& tensors,
                  size_t shard_bytes_max) {
  folder.write("config.json", "{}");
  ModelWriter writer(folder.path(), tensors, shard_bytes_max);
  for (size_t i = 0; i < tensors.size(); ++i) {
    for (size_t k = 0; k < tensors[i].n_bytes(); ++k) {
      const auto byte = static_cast<std::byte>(i + k);
      writer.write({&byte, 1});
    }
  }
  writer.commit();
}

TEST(ModelWriter, WritesShardsThatTheReaderFindsThroughTheIndex) {
  const TemporaryFolder folder;
  const std::vector<TensorSpec> tensors = {bytes_of("z", 4), bytes_of("y", 6), bytes_of("x", 2)};
  write_folder(folder, tensors, 8);
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "model-00002-of-00002.safetensors"));
  const ModelFile file = ModelFile::open(folder.path());
  ASSERT_EQ(file.tensors().size(), 3u);
  for (size_t i = 0; i < tensors.size(); ++i) {
    const TensorView& view = file.tensors().at(tensors[i].name);
    ASSERT_EQ(view.n_bytes, tensors[i].n_bytes());
    for (size_t k = 0; k < view.n_bytes; ++k)
      EXPECT_EQ(view.data[k], static_cast<std::byte>(i + k)) << i << " " << k;
  }
}

TEST(ModelWriter, WritesOneFileWithoutAnIndexWhereEverythingFits) {
  const TemporaryFolder folder;
  write_folder(folder, {bytes_of("a", 4), bytes_of("b", 4)}, 8);
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "model.safetensors"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "model.safetensors.index.json"));
  EXPECT_EQ(ModelFile::open(folder.path()).tensors().size(), 2u);
}

TEST(ModelWriter, SaysWhyTheIndexCannotBeWritten) {
  const TemporaryFolder folder;
  const std::string name(2000, 'x');
  const test::FileSizeLimit limit(5'000);  // each shard has the long name once, the index all
  EXPECT_TRUE(
      fails_with(ErrorCode::kOutputFailed, "index.json: cannot be written to its end: File", [&] {
        write_folder(
            folder, {bytes_of("a" + name, 8), bytes_of("b" + name, 8), bytes_of("c" + name, 8)}, 8);
      }));
}

TEST(ModelWriter, WritesTensorsWithoutElementsBehindAFullShard) {
  const TemporaryFolder folder;
  write_folder(folder, {bytes_of("a", 9), bytes_of("b", 0)}, 8);
  EXPECT_EQ(ModelFile::open(folder.path()).tensors().size(), 2u);
}

}  // namespace
}  // namespace slip
