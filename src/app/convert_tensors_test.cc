// A converted model read back: every matrix within the bound of its format, everything else byte
// for byte.

#include "app/convert_tensors.h"

#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "backend/testing/random_model.h"
#include "base/testing/expect_error.h"
#include "io/testing/temporary_folder.h"
#include "tensor/quant.h"

namespace slip {
namespace {

// Converts `source` into a folder and reads both.
struct Conversion {
  test::TemporaryFolder folder;
  ModelFile source;
  ConvertPlan plan;

  Conversion(const std::filesystem::path& path, const ConvertRules& rules,
             size_t shard_bytes_max = kShardBytesMax)
      : source(ModelFile::open(path)) {
    plan = plan_conversion(source, load_model(source), rules);
    std::vector<TensorSpec> specs;
    for (const ConvertedTensor& tensor : plan.tensors) {
      for (TensorSpec& spec : specs_of(tensor)) specs.push_back(std::move(spec));
    }
    ThreadPool pool(2);
    ModelWriter writer(folder.path(), specs, shard_bytes_max);
    EXPECT_TRUE(write_tensors(plan, writer, pool));
    folder.write("config.json", make_config(source.config(), plan, rules).dump());
  }
};

std::vector<float> rows_of(const WeightView& view) {
  std::vector<float> values(static_cast<size_t>(view.n_out) * static_cast<size_t>(view.n_in));
  for (int32_t row = 0; row < view.n_out; ++row) {
    dequantize_row(
        view, row,
        std::span(values).subspan(static_cast<size_t>(row) * static_cast<size_t>(view.n_in),
                                  static_cast<size_t>(view.n_in)));
  }
  return values;
}

double relative_error(const WeightView& found, const WeightView& wanted) {
  const std::vector<float> f = rows_of(found), w = rows_of(wanted);
  double error = 0, norm = 0;
  for (size_t i = 0; i < w.size(); ++i) {
    error += static_cast<double>(f[i] - w[i]) * static_cast<double>(f[i] - w[i]);
    norm += static_cast<double>(w[i]) * static_cast<double>(w[i]);
  }
  return std::sqrt(error / norm);
}

class WriteTensors : public testing::TestWithParam<int32_t> {};

TEST_P(WriteTensors, GivesBackEveryMatrixWithinTheErrorOfItsWidth) {
  const RandomModelFolder folder({});
  const Conversion conversion(folder.path(), {.bits = GetParam(), .group_size = 32});
  const ModelFile file = ModelFile::open(conversion.folder.path());
  const LoadedModel found = load_model(file), wanted = load_model(conversion.source);
  // A group of 32 normal values spans 4 deviations, cut into 2^bits - 1 steps: half of one at most.
  const double bound = 4.2 / ((1 << GetParam()) - 1) / std::sqrt(12.0) * 1.15;
  EXPECT_LT(relative_error(found.weights.embedding, wanted.weights.embedding), bound);
  EXPECT_LT(relative_error(found.weights.head, wanted.weights.head), bound);
  EXPECT_LT(
      relative_error(found.weights.layers[0].delta_net.qkv, wanted.weights.layers[0].delta_net.qkv),
      bound);
  EXPECT_LT(
      relative_error(found.weights.layers[3].attention.out, wanted.weights.layers[3].attention.out),
      bound);
  EXPECT_LT(relative_error(found.weights.draft_head.fusion, wanted.weights.draft_head.fusion),
            bound);
}

INSTANTIATE_TEST_SUITE_P(Bits, WriteTensors, testing::Values(2, 3, 4, 5, 6, 8));

TEST(WriteTensorsOf, AMatrixBeyondOneChunkKeepsEachRowsScales) {
  const RandomModelFolder folder({.vocab_size = 20'000,  // of 64 values: more than a million
                                  .layers = {RandomMixer::kAttention},
                                  .tie_word_embeddings = true,
                                  .has_draft_head = false});
  const Conversion conversion(folder.path(), {.bits = 8, .group_size = 32});
  const ModelFile file = ModelFile::open(conversion.folder.path());
  EXPECT_LT(relative_error(load_model(file).weights.embedding,
                           load_model(conversion.source).weights.embedding),
            0.01);
}

TEST(WriteTensorsOf, AModelKeepsItsVectors) {
  const RandomModelFolder folder({});
  const Conversion conversion(folder.path(), {.bits = 4, .group_size = 32});
  const ModelFile file = ModelFile::open(conversion.folder.path());
  const LoadedModel found = load_model(file), wanted = load_model(conversion.source);
  EXPECT_EQ(found.weights.norm, wanted.weights.norm);
  EXPECT_EQ(found.weights.layers[1].delta_net.conv, wanted.weights.layers[1].delta_net.conv);
  EXPECT_EQ(found.weights.layers[1].delta_net.a_log, wanted.weights.layers[1].delta_net.a_log);
  EXPECT_EQ(found.weights.draft_head.hidden_norm, wanted.weights.draft_head.hidden_norm);
}

TEST(WriteTensorsOf, AModelInShardsIsTheSame) {
  const RandomModelFolder folder({});
  const Conversion whole(folder.path(), {.bits = 8, .group_size = 32});
  const Conversion cut(folder.path(), {.bits = 8, .group_size = 32}, /*shard_bytes_max=*/50'000);
  const ModelFile a = ModelFile::open(whole.folder.path());
  const ModelFile b = ModelFile::open(cut.folder.path());
  ASSERT_EQ(a.tensors().size(), b.tensors().size());
  for (const auto& [name, tensor] : a.tensors()) {
    const TensorView& other = b.tensors().at(name);
    ASSERT_EQ(tensor.n_bytes, other.n_bytes) << name;
    EXPECT_EQ(std::memcmp(tensor.data, other.data, tensor.n_bytes), 0) << name;
  }
}

TEST(WriteTensorsOf, AWeightThatIsNotFiniteNamesItsModule) {
  const RandomModelFolder folder({.poison = TokenId{3}});
  EXPECT_TRUE(test::fails_with(ErrorCode::kCorruptFile, "embed_tokens: found a value",
                               [&] { Conversion(folder.path(), {.bits = 4, .group_size = 32}); }));
}

}  // namespace
}  // namespace slip
