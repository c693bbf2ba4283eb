// Loading whole models: random ones in Hugging Face layout, damaged copies of them, and the
// embedded one in MLX layout.

#include <fstream>

#include <gtest/gtest.h>

#include "backend/testing/random_model.h"
#include "base/testing/expect_error.h"
#include "io/json_file.h"
#include "io/safetensors.h"
#include "model/tensor_finder.h"
#include "model/weights.h"

namespace slip {
namespace {

// Rewrites the random model's tensors after `change` had them.
template <class Change>
void change_tensors(const std::filesystem::path& folder, Change change) {
  const ModelFile file = ModelFile::open(folder);
  std::vector<NamedTensor> tensors;
  for (const auto& [name, tensor] : file.tensors()) tensors.push_back({name, tensor});
  change(tensors);
  write_safetensors(folder / "model.safetensors", tensors);
}

std::string message_of_load(const std::filesystem::path& folder) {
  return test::message_of([&] {
    const ModelFile file = ModelFile::open(folder);
    load_model(file);
  });
}

float mean(const Vector& values) {
  float sum = 0;
  for (const float v : values) sum += v;
  return sum / static_cast<float>(values.size());
}

TEST(LoadModel, AddsTheOneToZeroCentredNorms) {
  const RandomModelFolder folder({});
  const ModelFile file = ModelFile::open(folder.path());
  const LoadedModel model = load_model(file);
  EXPECT_NEAR(mean(model.weights.layers[0].input_norm), 1.0f, 0.3f);
  EXPECT_NEAR(mean(model.weights.draft_head.hidden_norm), 1.0f, 0.3f);
}

TEST(LoadModel, LeavesFoldedNormsOfAnMlxFileAsTheyAre) {
  const ModelFile file =
      ModelFile::open(std::filesystem::path(SLIP_SOURCE_DIR) / "models/tiny-coder");
  const LoadedModel model = load_model(file);
  const std::vector<float> stored =
      to_floats(file.tensors().at("language_model.model.layers.0.input_layernorm.weight"));
  EXPECT_EQ(model.weights.layers[0].input_norm, stored);
}

TEST(LoadModel, UsesEveryTensorOfTheEmbeddedModel) {
  const ModelFile file =
      ModelFile::open(std::filesystem::path(SLIP_SOURCE_DIR) / "models/tiny-coder");
  const LoadedModel model = load_model(file);
  size_t n_bytes = model.weights.embedding.n_bytes() + model.weights.draft_head.fusion.n_bytes();
  for (const LayerWeights& layer : model.weights.layers) n_bytes += layer.ffn.gate.n_bytes();
  EXPECT_TRUE(model.config.has_draft_head);
  EXPECT_EQ(model.weights.head.data, model.weights.embedding.data);
  EXPECT_EQ(model.weights.embedding.format, WeightFormat::kAffine8);
  EXPECT_LT(n_bytes, file.n_bytes());
}

TEST(LoadModel, FindsNoDraftHeadWhereTheFileHasNone) {
  const RandomModelFolder folder({.has_draft_head = false});
  const ModelFile file = ModelFile::open(folder.path());
  EXPECT_FALSE(load_model(file).config.has_draft_head);
}

TEST(LoadModel, NamesAMissingTensor) {
  const RandomModelFolder folder({});
  change_tensors(folder.path(), [](std::vector<NamedTensor>& tensors) {
    std::erase_if(tensors, [](const NamedTensor& t) {
      return t.name.ends_with("layers.1.mlp.up_proj.weight");
    });
  });
  EXPECT_NE(message_of_load(folder.path()).find("layers.1.mlp.up_proj.weight is missing"),
            std::string::npos)
      << message_of_load(folder.path());
}

TEST(LoadModel, NamesFoundAndExpectedShape) {
  const RandomModelFolder folder({});
  change_tensors(folder.path(), [](std::vector<NamedTensor>& tensors) {
    for (NamedTensor& t : tensors) {
      if (t.name.ends_with("layers.0.mlp.gate_proj.weight"))
        std::swap(t.tensor.shape[0], t.tensor.shape[1]);
    }
  });
  EXPECT_NE(
      message_of_load(folder.path()).find("gate_proj.weight: shape [64, 96], expected [96, 64]"),
      std::string::npos)
      << message_of_load(folder.path());
}

TEST(LoadModel, NamesAnUnsupportedType) {
  const RandomModelFolder folder({});
  change_tensors(folder.path(), [](std::vector<NamedTensor>& tensors) {
    for (NamedTensor& t : tensors) {
      if (t.name.ends_with("layers.0.mlp.gate_proj.weight")) t.tensor.dtype = DType::kI16;
    }
  });
  EXPECT_NE(message_of_load(folder.path()).find("type I16"), std::string::npos)
      << message_of_load(folder.path());
}

TEST(LoadModel, NamesAModelTypeThatNoFamilyClaims) {
  const RandomModelFolder folder({});
  std::ofstream(folder.path() / "config.json") << R"({"model_type": "gpt2"})";
  EXPECT_NE(message_of_load(folder.path()).find("found \"gpt2\""), std::string::npos)
      << message_of_load(folder.path());
}

TEST(TensorFinder, ReportsWhatNothingAskedFor) {
  const RandomModelFolder folder({});
  const ModelFile file = ModelFile::open(folder.path());
  OwnedBytes owned;
  TensorFinder finder(file, owned);
  const size_t n_all = finder.unused().size();
  finder.vector("mtp.norm.weight", {64});
  EXPECT_EQ(finder.unused().size(), n_all - 1);
}

}  // namespace
}  // namespace slip
