// The scripted runner is a runner: whatever is tested on it may rely on the contract.
#include "backend/testing/runner_contract.h"
#include "backend/testing/scripted_runner.h"

namespace slip::contract {
namespace {

std::unique_ptr<Runner> make_scripted(const RunnerOptions& options, uint64_t seed) {
  return std::make_unique<ScriptedRunner>(
      ScriptedOptions{.vocab_size = 64,
                      .context_tokens_max = options.context_tokens_max,
                      .cache_tokens_max = options.cache_tokens_max,
                      .states_max = options.states_max,
                      .batch_rows_max = options.batch_rows_max,
                      .logit_rows_max = options.batch_rows_max,
                      .seed = seed});
}

ContractCase scripted() {
  return {.name = "scripted",
          .make = [](const RunnerOptions& options) { return make_scripted(options, 1); },
          .make_other = [](const RunnerOptions& options) { return make_scripted(options, 2); },
          .poison = std::nullopt};
}

INSTANTIATE_TEST_SUITE_P(Scripted, RunnerContract, testing::Values(scripted()), case_name);
INSTANTIATE_TEST_SUITE_P(Scripted, RunnerDraftContract, testing::Values(scripted()), case_name);

}  // namespace
}  // namespace slip::contract
