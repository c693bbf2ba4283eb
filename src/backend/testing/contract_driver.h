// Drives a runner the way an engine does, one visible call per idea. The contract suite is written
// in these words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "backend/runner.h"

namespace slip::contract {

using Tokens = std::vector<TokenId>;
using Logits = std::vector<float>;  // [vocab_size]
using Bytes = std::vector<std::byte>;

// What one sequence contributes to a step, from its committed length on.
struct Rows {
  StateId state{};
  Tokens tokens;
  int32_t n_certain = 1;
  bool wants_next = true;
};

struct StepResult {
  std::vector<Verdict> verdicts;  // [n_segments]
  std::vector<Logits> logits;     // [n_logit_rows], over segments in order
};

// reserve, forward, accept, read_logits. Room for the rows has to be there.
StepResult run_step(Runner& runner, std::span<const Rows> rows,
                    std::span<const AcceptRequest> requests = {});

// A plain continuation. `tokens[i]` follows row i and is the token that row i + 1 runs.
struct Plain {
  Tokens tokens;
  std::vector<Logits> logits;
  std::vector<Bytes> saved;  // right after row i; empty where nobody asked
};

struct Drafted {
  Tokens tokens;
  Logits last_logits;
};

// One sequence state, closed with this object. The runner outlives it.
class Driver {
 public:
  explicit Driver(Runner& runner, StateOptions options = {});
  // For a state that came alive otherwise.
  static Driver adopt(Runner& runner, StateId state) { return Driver(&runner, state); }
  ~Driver();
  Driver(Driver&& other) noexcept;
  Driver& operator=(Driver&&) = delete;

  StateId state() const { return state_; }
  StateInfo info() const { return runner_->state_info(state_); }

  // Runs `tokens`, all certain, in segments of at most `chunk_rows`, shorter where a split border
  // or the runner's own limit asks for it. Returns the logits of the last.
  Logits read(const Tokens& tokens, int32_t chunk_rows);

  // One segment: `pending` and drafts after it.
  StepResult verify(TokenId pending, const Tokens& drafts, const AcceptRequest& request = {});

  // `n` rows, one a step, each running the greedy choice of the row before.
  Plain decode(TokenId pending, int n);
  Plain decode_and_save(TokenId pending, int n);

  // Greedy tokens of the draft head after `pending`.
  Drafted draft(TokenId pending, int n, double reach_min = 0);

  void truncate(int32_t n_tokens) { runner_->truncate(state_, n_tokens); }
  Bytes save() { return runner_->save(state_); }
  Driver fork();
  void close();

 private:
  Driver(Runner* runner, StateId state) : runner_(runner), state_(state) {}

  Runner* runner_;
  StateId state_;
  bool is_open_ = true;
};

// `n` tokens that depend on nothing but `seed`; none is `avoided`.
Tokens random_tokens(const Runner& runner, uint64_t seed, int32_t n, TokenId avoided);

// A token that is not `token`.
TokenId other_than(const Runner& runner, TokenId token);

// The id of the largest logit, which has to be usable.
TokenId greedy(const Logits& logits);

Tokens slice(const Tokens& tokens, size_t begin, size_t n);

// Equality to the last bit, NaN included; a failure names the first difference.
testing::AssertionResult same_logits(const Logits& found, const Logits& wanted);
testing::AssertionResult same_bytes(const Bytes& found, const Bytes& wanted);

}  // namespace slip::contract
