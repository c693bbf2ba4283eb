// A lane runs what its option asks for, is retired by its self-check, and counts. Answers are the
// plain path's own wherever it is off, bit for bit.
#include "backend/cpu/lanes.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backend/cpu/cpu_runner.h"
#include "backend/testing/random_model.h"
#include "base/check.h"
#include "base/testing/expect_error.h"

namespace slip::cpu {
namespace {

using test::fails_with;

constexpr std::array<std::string_view, 2> kKernels = {"best", "second"};
constexpr auto kAtOff = static_cast<size_t>(LaneRefusal::kOff);
constexpr auto kAtRetired = static_cast<size_t>(LaneRefusal::kRetired);
constexpr auto kAtNoKernel = static_cast<size_t>(LaneRefusal::kNoKernel);
constexpr auto kAtShape = static_cast<size_t>(LaneRefusal::kShape);

Lane lane_with(const std::string& use) {
  Lane lane("attention");
  lane.set_use(use);
  return lane;
}

TEST(Lane, PicksTheBestKernelOrTheOneThatIsAskedFor) {
  EXPECT_EQ(lane_with("on").pick(kKernels), 0u);
  EXPECT_EQ(lane_with("second").pick(kKernels), 1u);
}

TEST(Lane, IsOffWhereItIsAskedToBeOrHasNothingToChoose) {
  for (Lane lane : {lane_with("off"), lane_with("fma")}) {
    EXPECT_EQ(lane.pick(kKernels), kKernels.size());
    EXPECT_FALSE(lane.is_on());
  }
  Lane lane = lane_with("on");
  lane.pick({});
  EXPECT_FALSE(lane.is_on());
  EXPECT_EQ(lane.report().kernel, "fma");
}

TEST(Lane, RefusesAKernelThatIsNotThere) {
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument,
                         "lane attention: found \"third\", wanted one of on, off, best, second",
                         [] { lane_with("third").pick(kKernels); }));
}

TEST(Lane, CountsRefusalsByTheReasonThatTheLaneHasAndByThatOfTheCallWhereItIsOn) {
  Lane on = lane_with("on"), off = lane_with("off"), empty = lane_with("on");
  on.pick(kKernels);
  off.pick(kKernels);
  empty.pick({});
  for (Lane* lane : {&on, &off, &empty}) lane->count_refusal(LaneRefusal::kShape);
  EXPECT_EQ(on.report().n_refused[kAtShape], 1);
  EXPECT_EQ(off.report().n_refused[kAtOff], 1);
  EXPECT_EQ(empty.report().n_refused[kAtNoKernel], 1);
  on.retire("a fault");
  on.count_refusal(LaneRefusal::kShape);
  EXPECT_EQ(on.report().n_refused[kAtRetired], 1);
}

TEST(Lane, SaysWhyItWasRetired) {
  Lane lane = lane_with("on");
  lane.pick(kKernels);
  lane.retire("one is two");
  EXPECT_EQ(lane.report().why_not, "kernel best failed its self-check: one is two");
  EXPECT_EQ(lane.report().kernel, "fma");
}

TEST(Lanes, AreFoundByName) {
  const Lanes lanes = make_lanes(std::array{LaneOption{"product", "off"}}, "attention");
  Lane product = lanes.product;
  product.pick(kKernels);
  EXPECT_FALSE(product.is_on());
  float output = 1;
  lanes.attention.corrupt(&output);
  EXPECT_EQ(output, 3.0f);
  lanes.product.corrupt(&output);
  EXPECT_EQ(output, 3.0f);
}

TEST(Lanes, RefuseANameThatIsNotThere) {
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument,
                         "lane: found \"fast\", wanted one of attention, product", [] {
                           make_lanes(std::array{LaneOption{"fast", "on"}}, "");
                         }));
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, "lane: found \"fast\"",
                         [] { make_lanes({}, "fast"); }));
}

// A small model on the best table, after one verify step of five rows.
struct Model {
  explicit Model(RunnerOptions options, const RandomModelOptions& shape = {}) {
    const RandomModelFolder folder(shape);
    const ModelFile file = ModelFile::open(folder.path());
    options.n_threads = 2;
    options.context_tokens_max = 64;
    const std::unique_ptr<Runner> runner = load_runner(file, options);
    const StateId state = runner->open({}).value();
    SLIP_CHECK(runner->reserve(state, 64));
    Batch batch;
    for (int32_t i = 0; i < 5; ++i) batch.tokens.push_back(TokenId{7 * i});
    batch.segments = {{.state = state, .position = 0, .n_rows = 5, .n_certain = 1}};
    batch.segments[0].wants_next = true;
    runner->forward(batch);
    logits.resize(static_cast<size_t>(runner->info().vocab_size));
    runner->read_logits(4, logits);
    lanes = runner->lanes();
  }

  const LaneReport& lane(const std::string& name) const {
    return *std::ranges::find(lanes, name, &LaneReport::lane);
  }

  std::vector<float> logits;
  std::vector<LaneReport> lanes;
};

TEST(SelfCheck, RetiresALaneWithOneWrongElementAndAnswersAsThePlainPath) {
  for (const std::string name : {"attention", "product"}) {
    const Model clean({});
    if (!clean.lane(name).is_on) continue;  // this machine's table has no such kernel
    const Model plain({.lanes = {{name, "off"}}});
    const Model injected({.injected_lane = name});
    EXPECT_FALSE(injected.lane(name).is_on);
    EXPECT_NE(injected.lane(name).why_not.find("failed its self-check"), std::string::npos);
    EXPECT_GT(injected.lane(name).n_refused[kAtRetired], 0);
    EXPECT_EQ(injected.lane(name).n_used, 0);
    EXPECT_EQ(injected.logits, plain.logits) << name;
  }
}

TEST(SelfCheck, LeavesEveryKernelOfEveryTableOn) {
  for (const KernelTable* table : kernel_tables()) {
    if (!table->supports(cpu_features())) continue;
    for (const PackedProducts& order : table->packed) {
      const Model model(
          {.kernels = std::string(table->name), .lanes = {{"product", std::string(order.name)}}});
      EXPECT_EQ(model.lane("product").kernel, order.name) << table->name;
      EXPECT_EQ(model.lane("product").lane_class,
                order.rounds_inputs ? LaneClass::kRounding : LaneClass::kExact);
      EXPECT_EQ(model.lane("attention").is_on, table->name == "amx");
    }
  }
}

TEST(LaneReport, CountsOperationsAndShowsHowTheLastOneWasCut) {
  const Model model({});
  EXPECT_GT(model.lane("product").n_used, 0);
  const LaneReport& attention = model.lane("attention");
  if (!attention.is_on) GTEST_SKIP() << "this machine's table has one attention kernel";
  EXPECT_EQ(attention.n_used, 1);  // the model has one layer of it
  EXPECT_EQ(attention.receipt.n_rows, 5);
  EXPECT_EQ(attention.receipt.heads_per_chunk, 2);
  EXPECT_EQ(attention.receipt.n_chunks, 2);
  EXPECT_EQ(attention.receipt.n_kv_heads, 2);
}

TEST(LaneReport, CountsProductsThatAnOptionOrTheShapeKeepsFromTheLane) {
  const Model off({.lanes = {{"product", "off"}}});
  EXPECT_EQ(off.lane("product").n_used, 0);
  EXPECT_GT(off.lane("product").n_refused[kAtOff], 0);
  const Model odd({}, {.hidden_size = 72});  // columns that groups of 32 do not divide
  EXPECT_GT(odd.lane("product").n_refused[kAtShape], 0);
}

}  // namespace
}  // namespace slip::cpu
