// What the parity tests share: the bar, and one sequence on a runner of its own.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "app/backends.h"
#include "backend/runner.h"
#include "backend/split_rule.h"
#include "base/cpu_features.h"
#include "io/model_file.h"
#include "test_device.h"

namespace slip {

// Largest error of a row over the row's largest logit, both absolute.
//
// Both sides compute and cache in float32 and differ only in the order of their sums. A product of
// n terms in another order is off by about sqrt(n) * 2^-24, 1e-6 at n = 384; some layers of norms,
// gates and a recurrence amplify that: transformers' own two forms of the delta net are up
// to 1.6e-5 apart on these files. 1e-4 leaves six times that. Mistakes show well above it: reversed
// taps, a swapped half or a tiled head move a row by 1e-1 and more, a frequency off by a tenth by
// 1e-2, an epsilon off by ten by 9e-4.
inline constexpr double kTolerance = 1e-4;

inline double relative_error(std::span<const float> got, std::span<const float> want) {
  double error = 0;
  double scale = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    if (!std::isfinite(got[i])) return INFINITY;  // NaN would lose every comparison below
    error = std::max(error, std::abs(static_cast<double>(got[i]) - static_cast<double>(want[i])));
    scale = std::max(scale, std::abs(static_cast<double>(want[i])));
  }
  return error / scale;
}

inline bool is_on_cpu() { return find_device(test_device()).backend.name == "cpu"; }

inline constexpr const char* kOfTheCpu = "the CPU alone has tables of kernels to choose from";

// The best that this machine can run with float inputs: products of the matrix unit round theirs.
inline const std::string kBestKernels = is_on_cpu() && cpu_features().amx_bf16 ? "avx512" : "";
inline const std::string kDefinitions = "reference";  // plain loops, what kernels are tested with
inline constexpr int32_t kContextTokens = 512;  // more than any golden sequence with its drafts

inline std::unique_ptr<Runner> load_on_test_device(const ModelFile& model, RunnerOptions options) {
  const DeviceChoice device = find_device(test_device());
  options.device_index = device.index;
  return device.backend.load(model, options);
}

class ParitySequence {
 public:
  //   kernels  as RunnerOptions has it
  ParitySequence(const ModelFile& model, const std::string& kernels, const StateOptions& options)
      : runner_(load_on_test_device(model, {.context_tokens_max = kContextTokens,
                                            .states_max = 1,
                                            .kernels = kernels,
                                            .kv_type = DType::kF32})),
        state_(runner_->open(options).value()) {
    EXPECT_TRUE(runner_->reserve(state_, kContextTokens));
  }

  // Rows that one segment may have from here on, at most `wanted`.
  int32_t segment_rows(int32_t wanted) const {
    const RunnerInfo& info = runner_->info();
    return std::min(
        {wanted, info.batch_rows_max, rows_until_split_change(n_committed(), info.n_splits)});
  }

  // Runs one segment at the end of the sequence; the tokens from `n_certain` on are drafts.
  Verdict run(std::span<const TokenId> tokens, int32_t n_certain) {
    const auto n_rows = static_cast<int32_t>(tokens.size());
    const Segment segment{
        .state = state_, .position = n_committed(), .n_rows = n_rows, .n_certain = n_certain};
    runner_->forward({.tokens = {tokens.begin(), tokens.end()}, .segments = {segment}});
    Verdict verdict;
    runner_->accept({}, {&verdict, 1});
    EXPECT_TRUE(verdict.is_finite);
    return verdict;
  }
  Verdict run(std::span<const TokenId> certain) {
    return run(certain, static_cast<int32_t>(certain.size()));
  }

  // The first `n` tokens of `tokens`, in segments as long as they may be.
  Verdict run_prompt(std::span<const TokenId> tokens) {
    Verdict verdict;
    while (!tokens.empty()) {
      const auto n = static_cast<size_t>(segment_rows(static_cast<int32_t>(tokens.size())));
      verdict = run(tokens.first(n));
      tokens = tokens.subspan(n);
    }
    return verdict;
  }

  std::vector<TokenId> draft(TokenId pending, size_t depth) {
    std::vector<TokenId> out(depth);
    const DraftRequest request{.state = state_, .pending = pending, .out = out};
    runner_->draft({&request, 1});
    return out;
  }

  Runner& runner() { return *runner_; }
  int32_t n_committed() const { return runner_->state_info(state_).n_committed; }

 private:
  std::unique_ptr<Runner> runner_;
  StateId state_;
};

}  // namespace slip
