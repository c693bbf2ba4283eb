// The runner on a GPU or on the emulation of one: what the whole contract asks, in a few steps.
#include "backend/cuda/cuda_runner.h"

#include <memory>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "backend/cpu/cpu_runner.h"
#include "backend/cuda/kernel_fixture.h"
#include "backend/testing/contract_driver.h"
#include "backend/testing/contract_models.h"
#include "base/testing/expect_error.h"

namespace slip::cuda {
namespace {

using contract::Driver;
using contract::Tokens;

// Small sums in another order, through four layers; logits have a deviation of about 3.
constexpr double kLogitsTolerance = 2e-5;

const RunnerOptions kOptions{.n_threads = 1,
                             .context_tokens_max = 128,
                             .states_max = 3,
                             .batch_rows_max = 32,
                             .kv_type = DType::kF32};

class CudaRunnerTest : public KernelTest {};

Tokens text(int32_t n) {
  Tokens tokens;
  for (int32_t i = 0; i < n; ++i) tokens.push_back(TokenId{1 + 7 * i % 60});
  return tokens;
}

TEST_F(CudaRunnerTest, LogitsAgreeWithThoseOfTheCpu) {
  for (const RandomModelOptions& model :
       {contract::grouped_model(), contract::tied_model(), contract::experts_model()}) {
    const ModelFile& file = contract::file_of(model);
    const auto gpu = load_runner(file, kOptions);
    RunnerOptions definitions = kOptions;
    definitions.kernels = "reference";
    const auto cpu = cpu::load_runner(file, definitions);
    Driver on_gpu(*gpu, {}), on_cpu(*cpu, {});
    expect_close(on_gpu.read(text(9), 5), on_cpu.read(text(9), 5), kLogitsTolerance,
                 "logits of model " + std::to_string(model.seed));
  }
}

TEST_F(CudaRunnerTest, RowsOfALongPassAreThoseOfShortOnes) {
  RunnerOptions options = kOptions;
  options.batch_rows_max = 36;  // attention takes 32 at a time
  const auto runner = load_runner(contract::file_of(contract::grouped_model()), options);
  Driver at_once(*runner, {}), in_parts(*runner, {});
  EXPECT_EQ(at_once.read(text(36), 36), in_parts.read(text(36), 12));
}

TEST_F(CudaRunnerTest, DraftsOfTheHeadAgreeWithThoseOfTheCpu) {
  const ModelFile& file = contract::file_of(contract::grouped_model());
  const auto gpu = load_runner(file, kOptions);
  RunnerOptions definitions = kOptions;
  definitions.kernels = "reference";
  const auto cpu = cpu::load_runner(file, definitions);
  Driver on_gpu(*gpu, {.keeps_draft_history = true}), on_cpu(*cpu, {.keeps_draft_history = true});
  on_gpu.read(text(6), 4);
  on_cpu.read(text(6), 4);
  const contract::Drafted found = on_gpu.draft(TokenId{5}, 2), wanted = on_cpu.draft(TokenId{5}, 2);
  EXPECT_EQ(found.tokens, wanted.tokens);
  expect_close(found.last_logits, wanted.last_logits, kLogitsTolerance, "logits of the head");
}

// Rejected drafts leave no trace, in a copy neither.
TEST_F(CudaRunnerTest, AStateBehindRejectedDraftsIsTheOneOfPlainDecodingByteForByte) {
  const auto runner = load_runner(contract::file_of(contract::grouped_model()), kOptions);
  const StateOptions history{.keeps_draft_history = true};
  Driver plain(*runner, history), drafted(*runner, history);
  const TokenId pending = contract::greedy(plain.read(text(5), 8));
  drafted.read(text(5), 8);
  const contract::Plain wanted = plain.decode_and_save(pending, 2);
  drafted.verify(pending, {wanted.tokens[0], TokenId{100}, TokenId{3}});
  EXPECT_TRUE(contract::same_bytes(drafted.save(), wanted.saved[1]));
  const std::optional<StateId> copy = runner->load(wanted.saved[1]);
  ASSERT_TRUE(copy.has_value());
  EXPECT_TRUE(contract::same_bytes(runner->save(*copy), wanted.saved[1]));
}

// With a shared granule, a copied one, and an accepted draft that no state has folded yet.
TEST_F(CudaRunnerTest, AForkHasTheBytesOfItsParent) {
  RunnerOptions options = kOptions;
  options.batch_rows_max = 33;
  const auto runner = load_runner(contract::file_of(contract::grouped_model()), options);
  Driver parent(*runner, {});
  const TokenId pending = contract::greedy(parent.read(text(66), 33));
  const TokenId next = parent.fork().decode(pending, 1).tokens[0];
  EXPECT_EQ(parent.verify(pending, {next, TokenId{100}}).verdicts[0].n_accepted, 1);
  Driver child = parent.fork();
  EXPECT_TRUE(contract::same_bytes(child.save(), parent.save()));
}

TEST_F(CudaRunnerTest, AStateOfAnotherDeviceIsRefused) {
  const ModelFile& file = contract::file_of(contract::grouped_model());
  const auto cpu = cpu::load_runner(file, kOptions);
  const auto gpu = load_runner(file, kOptions);
  const contract::Bytes written = Driver(*cpu, {}).save();
  EXPECT_TRUE(test::fails_with(ErrorCode::kCorruptFile, "made by device \"cpu\", expected \"cuda",
                               [&] { gpu->load(written); }));
}

TEST_F(CudaRunnerTest, KernelsThatAreNotThereAreRefused) {
  RunnerOptions options = kOptions;
  options.kernels = "avx2";
  EXPECT_TRUE(test::fails_with(
      ErrorCode::kInvalidArgument, "kernels: found \"avx2\", wanted \"plain\" on a GPU",
      [&] { load_runner(contract::file_of(contract::grouped_model()), options); }));
}

}  // namespace
}  // namespace slip::cuda
