// What becomes of every tensor: names, bits, exceptions. Shapes only, no values.

#include "app/convert_plan.h"

#include <algorithm>
#include <optional>

#include <gtest/gtest.h>

#include "app/testing/embedded_model.h"
#include "backend/testing/random_model.h"
#include "base/testing/expect_error.h"
#include "io/testing/temporary_folder.h"

namespace slip {
namespace {

using test::fails_with;

int32_t find_bits(const ConvertPlan& plan, const std::string& name) {
  const auto it = std::ranges::find(plan.tensors, name, &ConvertedTensor::name);
  return it == plan.tensors.end() ? -1 : it->bits;
}

class PlanConversion : public testing::Test {
 protected:
  ConvertPlan plan(const ConvertRules& rules) const {
    return plan_conversion(file_, load_model(file_), rules);
  }

  static const ConvertedTensor& find(const ConvertPlan& plan, const std::string& name) {
    const auto it = std::ranges::find(plan.tensors, name, &ConvertedTensor::name);
    EXPECT_NE(it, plan.tensors.end()) << name;
    return *it;
  }

  const std::string layer_ = "language_model.model.layers.0.";
  RandomModelFolder folder_{{}};
  ModelFile file_ = ModelFile::open(folder_.path());
};

TEST_F(PlanConversion, GivesModulesTheNamesOfMlx) {
  const ConvertPlan p = plan({.bits = 4, .group_size = 32});
  for (const char* name :
       {"language_model.model.embed_tokens", "language_model.lm_head",
        "language_model.model.layers.3.self_attn.q_proj", "language_model.mtp.fc",
        "language_model.mtp.layers.0.mlp.up_proj", "language_model.model.norm.weight"}) {
    find(p, name);
  }
}

TEST_F(PlanConversion, QuantisesEmbeddingHeadAndDraftHead) {
  const ConvertPlan p = plan({.bits = 8, .group_size = 32});
  for (const char* name :
       {"language_model.model.embed_tokens", "language_model.lm_head", "language_model.mtp.fc"}) {
    EXPECT_EQ(find(p, name).bits, 8) << name;
    EXPECT_EQ(find(p, name).group_size, 32) << name;
  }
}

TEST_F(PlanConversion, KeepsNormsConvolutionAndDecays) {
  const ConvertPlan p = plan({.bits = 4, .group_size = 32});
  for (const char* name : {"input_layernorm.weight", "linear_attn.conv1d.weight",
                           "linear_attn.A_log", "linear_attn.dt_bias", "linear_attn.norm.weight"}) {
    EXPECT_FALSE(find(p, layer_ + name).is_matrix) << name;
  }
  EXPECT_EQ(find(p, layer_ + "linear_attn.in_proj_a").bits, 0);
  EXPECT_EQ(find(p, layer_ + "linear_attn.in_proj_b").bits, 0);
}

TEST_F(PlanConversion, CountsWhatItKeeps) {
  const ConvertPlan p = plan({.bits = 4, .group_size = 32});
  EXPECT_EQ(p.n_kept_matrices, 6);  // in_proj_a and in_proj_b of three layers
  EXPECT_TRUE(p.dropped.empty());
}

TEST_F(PlanConversion, KeepsMatricesThatTheGroupSizeDoesNotDivide) {
  const ConvertPlan p = plan({.bits = 4, .group_size = 64});  // the dense layers are 96 wide
  EXPECT_EQ(find(p, layer_ + "mlp.down_proj").bits, 0);
  EXPECT_EQ(find(p, layer_ + "mlp.up_proj").bits, 4);
}

TEST_F(PlanConversion, LetsTheLastOverrideThatMatchesDecide) {
  const ConvertPlan p =
      plan({.bits = 4,
            .group_size = 32,
            .overrides = {{"*.mlp.*", 8}, {"*.layers.0.mlp.up_proj", 0}, {"*.in_proj_a", 6}}});
  EXPECT_EQ(find(p, layer_ + "mlp.down_proj").bits, 8);
  EXPECT_EQ(find(p, layer_ + "mlp.up_proj").bits, 0);
  EXPECT_EQ(find(p, layer_ + "linear_attn.in_proj_a").bits, 6);
  EXPECT_EQ(find(p, layer_ + "linear_attn.out_proj").bits, 4);
}

TEST_F(PlanConversion, RefusesAnOverrideThatMatchesNothing) {
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, "--override: found \"*.nothing\"", [&] {
    plan({.overrides = {{"*.nothing", 8}}});
  }));
}

TEST_F(PlanConversion, WritesThreeTensorsForAMatrix) {
  const ConvertPlan p = plan({.bits = 5, .group_size = 32});
  const std::vector<TensorSpec> specs = specs_of(find(p, layer_ + "mlp.down_proj"));
  ASSERT_EQ(specs.size(), 3u);
  EXPECT_EQ(specs[0].name, layer_ + "mlp.down_proj.weight");
  EXPECT_EQ(specs[0].dtype, DType::kU32);
  EXPECT_EQ(specs[0].shape, (std::vector<int64_t>{64, 96 * 5 / 32}));
  EXPECT_EQ(specs[1].name, layer_ + "mlp.down_proj.scales");
  EXPECT_EQ(specs[1].dtype, DType::kBF16);
  EXPECT_EQ(specs[2].shape, (std::vector<int64_t>{64, 3}));
}

TEST_F(PlanConversion, NamesTheExceptionsInTheConfiguration) {
  const ConvertRules rules{.bits = 4, .group_size = 32, .overrides = {{"*.mlp.up_proj", 8}}};
  const nlohmann::ordered_json config = make_config({{"model_type", "x"}}, plan(rules), rules);
  const auto& q = config["quantization"];
  EXPECT_EQ(q["bits"], 4);
  EXPECT_EQ(q["group_size"], 32);
  EXPECT_EQ(q[layer_ + "mlp.up_proj"]["bits"], 8);
  EXPECT_EQ(q[layer_ + "linear_attn.in_proj_a"], false);
  EXPECT_FALSE(q.contains(layer_ + "mlp.down_proj"));
  EXPECT_EQ(config["quantization_config"], q);
  EXPECT_EQ(config["model_type"], "x");
}

TEST(PlanConversionOf, AQuantisedModelIsRefused) {
  const ModelFile file = ModelFile::open(test::kEmbeddedModel);
  const LoadedModel model = load_model(file);
  EXPECT_TRUE(fails_with(ErrorCode::kUnsupportedModel, "found type U32",
                         [&] { plan_conversion(file, model, {}); }));
}

// Two experts of width 32 in a stream of 64, stored each way that checkpoints store them.
class PlanExperts : public testing::Test {
 protected:
  PlanExperts() { model_.config.hidden_size = 64; }

  void write(const std::vector<TensorSpec>& specs) {
    folder_.write("config.json", "{}");
    SafetensorsWriter writer(folder_.path() / "model.safetensors", specs);
    for (const TensorSpec& spec : specs) writer.write(std::vector<std::byte>(spec.n_bytes()));
    writer.commit();
  }

  ConvertPlan plan() {
    file_.emplace(ModelFile::open(folder_.path()));
    model_.config.experts = {.n_experts = 2, .intermediate_size = 32};
    return plan_conversion(*file_, model_, {.bits = 4, .group_size = 32});
  }

  // Bytes of `part` counted from the beginning of tensor `name`.
  int64_t offset(const TensorView& part, const char* name) const {
    return part.data - file_->tensors().at(name).data;
  }

  test::TemporaryFolder folder_;
  LoadedModel model_;
  std::optional<ModelFile> file_;
};

TEST_F(PlanExperts, SplitsTheFusedStack) {
  write({{"m.mlp.experts.down_proj", DType::kBF16, {2, 64, 32}},
         {"m.mlp.experts.gate_up_proj", DType::kBF16, {2, 64, 64}}});
  const ConvertPlan p = plan();
  ASSERT_EQ(p.tensors.size(), 3u);
  EXPECT_EQ(p.tensors[0].name, "m.mlp.switch_mlp.down_proj");
  EXPECT_EQ(p.tensors[0].shape, (std::vector<int64_t>{2, 64, 32}));
  EXPECT_EQ(p.tensors[1].name, "m.mlp.switch_mlp.gate_proj");
  EXPECT_EQ(p.tensors[1].shape, (std::vector<int64_t>{2, 32, 64}));
  // Of each expert 32 rows of gate, then 32 of up, 64 columns of two bytes.
  EXPECT_EQ(offset(p.tensors[1].parts[1], "m.mlp.experts.gate_up_proj"), 64 * 64 * 2);
  EXPECT_EQ(offset(p.tensors[2].parts[0], "m.mlp.experts.gate_up_proj"), 32 * 64 * 2);
  EXPECT_EQ(p.tensors[2].bits, 4);
}

TEST_F(PlanExperts, StacksOnesInTheOrderOfTheirNumbers) {
  std::vector<TensorSpec> specs;
  for (const char* expert : {"0", "1"})
    specs.push_back(
        {"m.mlp.experts." + std::string(expert) + ".up_proj.weight", DType::kF32, {32, 64}});
  write(specs);
  const ConvertPlan p = plan();
  ASSERT_EQ(p.tensors.size(), 1u);
  EXPECT_EQ(p.tensors[0].name, "m.mlp.switch_mlp.up_proj");
  EXPECT_EQ(offset(p.tensors[0].parts[0], "m.mlp.experts.0.up_proj.weight"), 0);
  EXPECT_EQ(offset(p.tensors[0].parts[1], "m.mlp.experts.1.up_proj.weight"), 0);
}

TEST_F(PlanExperts, TakesAStackAsMlxHasIt) {
  write({{"m.mlp.switch_mlp.up_proj.weight", DType::kF16, {2, 32, 64}}});
  const ConvertPlan p = plan();
  EXPECT_EQ(p.tensors[0].name, "m.mlp.switch_mlp.up_proj");
  EXPECT_EQ(p.tensors[0].bits, 4);
}

TEST_F(PlanExperts, GivesRouterAndGateEightBits) {
  write({{"m.mlp.gate.weight", DType::kBF16, {2, 64}},
         {"m.mlp.shared_expert_gate.weight", DType::kBF16, {1, 64}},
         {"m.mlp.shared_expert.up_proj.weight", DType::kBF16, {32, 64}}});
  const ConvertPlan p = plan();
  EXPECT_EQ(find_bits(p, "m.mlp.gate"), 8);
  EXPECT_EQ(find_bits(p, "m.mlp.shared_expert_gate"), 8);
  EXPECT_EQ(find_bits(p, "m.mlp.shared_expert.up_proj"), 4);
}

TEST_F(PlanExperts, RefusesATransposedStack) {
  write({{"m.mlp.experts.down_proj", DType::kBF16, {2, 32, 64}}});
  EXPECT_TRUE(fails_with(ErrorCode::kUnsupportedModel, "transposed experts", [&] { plan(); }));
}

TEST_F(PlanExperts, LeavesOutWhatTheModelDoesNotUse) {
  write({{"a", DType::kBF16, {2}}, {"b", DType::kBF16, {2}}});
  model_.unused = {"a"};
  const ConvertPlan p = plan();
  ASSERT_EQ(p.tensors.size(), 1u);
  EXPECT_EQ(p.tensors[0].name, "b");
  EXPECT_EQ(p.dropped, model_.unused);
}

TEST(ParseOverride, ReadsBitsAndNone) {
  EXPECT_EQ(parse_override("*.x=8").pattern, "*.x");
  EXPECT_EQ(parse_override("*.x=8").bits, 8);
  EXPECT_EQ(parse_override("a=b=none").pattern, "a=b");
  EXPECT_EQ(parse_override("a=b=none").bits, 0);
}

TEST(ParseOverride, RefusesAnythingElse) {
  for (const char* text : {"", "=8", "x", "x=", "x=7", "x=08", "x=None", "x=4 "}) {
    EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, "--override", [&] {
      parse_override(text);
    })) << text;
  }
}

}  // namespace
}  // namespace slip
