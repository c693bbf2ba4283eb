// What the contract suite runs on: a backend under test as a value, and the start that most tests
// share.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backend/runner.h"
#include "backend/testing/contract_driver.h"

namespace slip::contract {

// A runner to test. Its logits are deterministic and spread, its vocabulary has at least 16 tokens,
// and where it has a block form, it runs with stable numerics: every row in step form.
struct ContractCase {
  std::string name;  // letters, digits and underscores
  std::function<std::unique_ptr<Runner>(const RunnerOptions&)>
      make;  // runs contexts of 32768 tokens and more
  std::function<std::unique_ptr<Runner>(const RunnerOptions&)>
      make_other;  // of the same shape, with other weights
  std::optional<TokenId>
      poison;  // a token whose rows are not finite and that no row chooses, where there is one
  std::function<std::string()>
      why_skipped;  // may be missing; what this machine lacks, empty where it can run the case
};

// NOLINTNEXTLINE(readability-identifier-naming): GoogleTest finds it by this name
void PrintTo(const ContractCase& contract_case, std::ostream* out);
std::string case_name(const testing::TestParamInfo<ContractCase>& info);

// A prompt, read; its greedy token, not yet run; and what plain decoding makes of them.
struct Start {
  Tokens prompt;
  TokenId pending{};
  Plain plain;
};

class RunnerContract : public testing::TestWithParam<ContractCase> {
 protected:
  void SetUp() override;

  // Room for twelve sequences, even where a runner hands out cache in pieces of a few thousand
  // tokens.
  static RunnerOptions small_plan();
  static constexpr int32_t kWhole =
      256;  // chunk length that takes any of the short prompts at once

  std::unique_ptr<Runner> make(const RunnerOptions& options = small_plan()) const {
    return GetParam().make(options);
  }

  // Random tokens, the poison excepted.
  Tokens tokens(const Runner& runner, uint64_t seed, int32_t n) const;

  // Without and, where the model has a draft head, with draft history.
  static std::vector<StateOptions> state_options(const Runner& runner);

  // small_plan with a context in which a second split begins, and that split's first position.
  struct LongPlan {
    RunnerOptions options;
    int32_t split_border;
  };
  LongPlan long_plan() const;

  // A length from which 32 rows share a split; they also cross a block border where splits are
  // longer than a block.
  static int32_t verify_position(const Runner& runner);

  // `n_decoded` plain rows after a prompt of verify_position tokens, with the state saved after
  // each.
  Start make_start(Runner& runner, StateOptions options, int n_decoded) const;

  // A state that has read the prompt of `start` and done nothing else.
  static Driver begin(Runner& runner, StateOptions options, const Start& start);
};

}  // namespace slip::contract
