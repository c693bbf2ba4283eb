#include "backend/testing/contract_fixture.h"

#include "backend/split_rule.h"

namespace slip::contract {

void PrintTo(const ContractCase& contract_case, std::ostream* out) { *out << contract_case.name; }

std::string case_name(const testing::TestParamInfo<ContractCase>& info) { return info.param.name; }

void RunnerContract::SetUp() {
  if (!GetParam().why_skipped) return;
  if (const std::string why = GetParam().why_skipped(); !why.empty()) GTEST_SKIP() << why;
}

RunnerOptions RunnerContract::small_plan() {
  return {.n_threads = 1,
          .context_tokens_max = 512,
          .cache_tokens_max = 65536,
          .states_max = 12,
          .batch_rows_max = 256,
          .kernels = {}};
}

RunnerContract::LongPlan RunnerContract::long_plan() const {
  LongPlan plan{.options = small_plan(), .split_border = 0};
  plan.split_border = kCacheBlockTokens * make()->info().n_splits;
  plan.options.context_tokens_max = plan.split_border + kCacheBlockTokens;
  return plan;
}

Tokens RunnerContract::tokens(const Runner& runner, uint64_t seed, int32_t n) const {
  return random_tokens(runner, seed, n, GetParam().poison.value_or(TokenId{-1}));
}

std::vector<StateOptions> RunnerContract::state_options(const Runner& runner) {
  std::vector<StateOptions> options = {{.keeps_draft_history = false}};
  if (runner.info().has_draft_head) options.push_back({.keeps_draft_history = true});
  return options;
}

int32_t RunnerContract::verify_position(const Runner& runner) {
  return runner.info().n_splits > 1 ? kCacheBlockTokens - 14 : kCacheBlockTokens;
}

Start RunnerContract::make_start(Runner& runner, StateOptions options, int n_decoded) const {
  Start start{.prompt = tokens(runner, /*seed=*/1, verify_position(runner)), .plain = {}};
  Driver driver(runner, options);
  start.pending = greedy(driver.read(start.prompt, kWhole));
  start.plain = driver.decode_and_save(start.pending, n_decoded);
  return start;
}

Driver RunnerContract::begin(Runner& runner, StateOptions options, const Start& start) {
  Driver driver(runner, options);
  driver.read(start.prompt, kWhole);
  return driver;
}

}  // namespace slip::contract
