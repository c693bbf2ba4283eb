#include "backend/testing/contract_driver.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>
#include <utility>

#include "backend/split_rule.h"
#include "base/check.h"
#include "base/rng.h"

namespace slip::contract {
namespace {

Plain decode_rows(Runner& runner, StateId state, TokenId pending, int n, bool saves) {
  Plain plain;
  for (int i = 0; i < n; ++i) {
    StepResult step = run_step(runner, std::vector<Rows>{{.state = state, .tokens = {pending}}});
    pending = step.verdicts.front().next;
    plain.tokens.push_back(pending);
    plain.logits.push_back(std::move(step.logits.front()));
    if (saves) plain.saved.push_back(runner.save(state));
  }
  return plain;
}

}  // namespace

StepResult run_step(Runner& runner, std::span<const Rows> rows,
                    std::span<const AcceptRequest> requests) {
  Batch batch;
  for (const Rows& r : rows) {
    const int32_t position = runner.state_info(r.state).n_committed;
    const auto n_rows = static_cast<int32_t>(r.tokens.size());
    SLIP_CHECK(runner.reserve(r.state, position + n_rows));
    batch.tokens.insert(batch.tokens.end(), r.tokens.begin(), r.tokens.end());
    batch.segments.push_back({.state = r.state,
                              .position = position,
                              .n_rows = n_rows,
                              .n_certain = r.n_certain,
                              .wants_next = r.wants_next});
  }
  check_batch(batch, runner.info());

  StepResult result;
  result.verdicts.resize(rows.size());
  runner.forward(batch);
  runner.accept(requests, result.verdicts);
  for (int32_t i = 0; i < batch.n_logit_rows(); ++i) {
    Logits& logits = result.logits.emplace_back(static_cast<size_t>(runner.info().vocab_size));
    runner.read_logits(i, logits);
  }
  return result;
}

Driver::Driver(Runner& runner, StateOptions options) : runner_(&runner) {
  const std::optional<StateId> state = runner.open(options);
  SLIP_CHECK(state.has_value());
  state_ = *state;
}

Driver::~Driver() { close(); }

Driver::Driver(Driver&& other) noexcept
    : runner_(other.runner_),
      state_(other.state_),
      is_open_(std::exchange(other.is_open_, false)) {}

void Driver::close() {
  if (std::exchange(is_open_, false)) runner_->close(state_);
}

Logits Driver::read(const Tokens& tokens, int32_t chunk_rows) {
  const auto n_tokens = static_cast<int32_t>(tokens.size());
  StepResult step;
  for (int32_t done = 0; done < n_tokens;) {
    const int32_t position = info().n_committed;
    const int32_t n_rows = std::min({chunk_rows, n_tokens - done, runner_->info().batch_rows_max,
                                     rows_until_split_change(position, runner_->info().n_splits)});
    step = run_step(*runner_, std::vector<Rows>{{.state = state_,
                                                 .tokens = slice(tokens, static_cast<size_t>(done),
                                                                 static_cast<size_t>(n_rows)),
                                                 .n_certain = n_rows,
                                                 .wants_next = done + n_rows == n_tokens}});
    done += n_rows;
  }
  return step.logits.back();
}

StepResult Driver::verify(TokenId pending, const Tokens& drafts, const AcceptRequest& request) {
  Tokens tokens = {pending};
  tokens.insert(tokens.end(), drafts.begin(), drafts.end());
  return run_step(*runner_, std::vector<Rows>{{.state = state_, .tokens = std::move(tokens)}},
                  {&request, 1});
}

Plain Driver::decode(TokenId pending, int n) {
  return decode_rows(*runner_, state_, pending, n, /*saves=*/false);
}

Plain Driver::decode_and_save(TokenId pending, int n) {
  return decode_rows(*runner_, state_, pending, n, /*saves=*/true);
}

Drafted Driver::draft(TokenId pending, int n, double reach_min) {
  Drafted drafted{.tokens = Tokens(static_cast<size_t>(n)),
                  .last_logits = Logits(static_cast<size_t>(runner_->info().vocab_size))};
  SLIP_CHECK(runner_->reserve(state_, info().n_committed + n + 1));
  int32_t n_drafted = 0;
  const DraftRequest request{.state = state_,
                             .pending = pending,
                             .out = drafted.tokens,
                             .reach_min = reach_min,
                             .maybe_n_drafted = &n_drafted};
  runner_->draft({&request, 1});
  drafted.tokens.resize(static_cast<size_t>(n_drafted));
  runner_->read_draft_logits(0, drafted.last_logits);
  return drafted;
}

Driver Driver::fork() {
  const std::optional<StateId> state = runner_->fork(state_);
  SLIP_CHECK(state.has_value());
  return adopt(*runner_, *state);
}

Tokens random_tokens(const Runner& runner, uint64_t seed, int32_t n, TokenId avoided) {
  const auto vocab_size = static_cast<float>(runner.info().vocab_size);
  Tokens tokens;
  for (int32_t i = 0; i < n; ++i) {
    const float u = uniform(seed, static_cast<uint64_t>(i), Draw::kTest);
    const TokenId token{static_cast<int32_t>(u * vocab_size)};
    tokens.push_back(token == avoided ? other_than(runner, token) : token);
  }
  return tokens;
}

TokenId other_than(const Runner& runner, TokenId token) {
  return TokenId{(static_cast<int32_t>(token) + 1) % runner.info().vocab_size};
}

TokenId greedy(const Logits& logits) {
  const std::optional<TokenId> best = argmax(logits);
  SLIP_CHECK(best.has_value());
  return *best;
}

Tokens slice(const Tokens& tokens, size_t begin, size_t n) {
  SLIP_CHECK(begin + n <= tokens.size());
  const auto first = tokens.begin() + static_cast<ptrdiff_t>(begin);
  return {first, first + static_cast<ptrdiff_t>(n)};
}

testing::AssertionResult same_logits(const Logits& found, const Logits& wanted) {
  if (found.size() != wanted.size()) {
    return testing::AssertionFailure() << found.size() << " logits, wanted " << wanted.size();
  }
  size_t n_different = 0;
  size_t first = 0;
  for (size_t i = found.size(); i-- > 0;) {
    if (std::bit_cast<uint32_t>(found[i]) == std::bit_cast<uint32_t>(wanted[i])) continue;
    ++n_different;
    first = i;
  }
  if (n_different == 0) return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << n_different << " of " << found.size() << " logits differ, the first at " << first
         << ": " << found[first] << ", wanted " << wanted[first];
}

testing::AssertionResult same_bytes(const Bytes& found, const Bytes& wanted) {
  if (found.size() != wanted.size()) {
    return testing::AssertionFailure() << found.size() << " bytes, wanted " << wanted.size();
  }
  const auto [a, b] = std::mismatch(found.begin(), found.end(), wanted.begin());
  if (a == found.end()) return testing::AssertionSuccess();
  const ptrdiff_t n_different =
      std::inner_product(found.begin(), found.end(), wanted.begin(), ptrdiff_t{0}, std::plus<>{},
                         std::not_equal_to<>{});
  return testing::AssertionFailure() << n_different << " of " << found.size()
                                     << " bytes differ, the first at " << (a - found.begin());
}

}  // namespace slip::contract
