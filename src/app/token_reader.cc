#include "app/token_reader.h"

#include <algorithm>
#include <string>
#include <utility>

#include "app/interrupt.h"
#include "backend/split_rule.h"
#include "base/check.h"
#include "base/error.h"

namespace slip {

namespace {

StateId open_state(Runner& runner, bool with_draft_head) {
  const std::optional<StateId> state = runner.open({.keeps_draft_history = with_draft_head});
  SLIP_CHECK(state);
  return *state;
}

}  // namespace

TokenReader::TokenReader(Runner& runner, std::vector<TokenId> tokens, bool with_draft_head)
    : runner_(runner), tokens_(std::move(tokens)), state_(open_state(runner, with_draft_head)) {
  // The draft head looks one token past the last one.
  const int32_t n_reserved = n_tokens() + (with_draft_head ? 1 : 0);
  if (runner.reserve(state_, n_reserved)) return;
  runner.close(state_);
  throw Error(ErrorCode::kInvalidArgument,
              "--context: found " + std::to_string(runner.info().context_tokens_max) +
                  ", wanted at least " + std::to_string(n_reserved) + " for these tokens");
}

TokenReader::~TokenReader() { runner_.close(state_); }

void TokenReader::skip_to(int32_t end) {
  while (position_ < end && !is_interrupted()) {
    const int32_t n_rows = rows_to(end, runner_.info().batch_rows_max);
    run({.state = state_,
         .position = position_,
         .n_rows = n_rows,
         .n_certain = n_rows,
         .wants_next = false});
  }
}

void TokenReader::verify(int32_t n_rows_max, std::vector<float>& logits) {
  const int32_t n_rows = rows_to(n_tokens(), n_rows_max);
  const int32_t end = position_ + n_rows;
  runner_.forward(
      make_batch({.state = state_, .position = position_, .n_rows = n_rows, .n_certain = 1}));
  for (int32_t row = 0; row < n_rows; ++row) runner_.read_logits(row, grow(logits));
  commit();
  skip_to(end);  // rows that the model would not have said itself run once more, as certain ones
}

std::optional<TokenId> TokenReader::step() {
  const Verdict verdict =
      run({.state = state_, .position = position_, .n_rows = 1, .n_certain = 1});
  return verdict.is_finite ? std::optional(verdict.next) : std::nullopt;
}

TokenId TokenReader::draft(std::vector<float>& logits) {
  const TokenId drafted = draft();
  runner_.read_draft_logits(0, grow(logits));
  return drafted;
}

TokenId TokenReader::draft() {
  TokenId drafted{};
  const DraftRequest request{
      .state = state_, .pending = tokens_[static_cast<size_t>(position_)], .out = {&drafted, 1}};
  runner_.draft({&request, 1});
  return drafted;
}

int32_t TokenReader::rows_to(int32_t end, int32_t n_rows_max) const {
  return std::min(
      {end - position_, n_rows_max, rows_until_split_change(position_, runner_.info().n_splits)});
}

Batch TokenReader::make_batch(const Segment& segment) const {
  const auto begin = tokens_.begin() + segment.position;
  return {.tokens = {begin, begin + segment.n_rows}, .segments = {segment}};
}

Verdict TokenReader::run(const Segment& segment) {
  runner_.forward(make_batch(segment));
  return commit();
}

Verdict TokenReader::commit() {
  Verdict verdict;
  runner_.accept({}, {&verdict, 1});
  position_ = runner_.state_info(state_).n_committed;
  return verdict;
}

std::span<float> TokenReader::grow(std::vector<float>& logits) const {
  const auto vocab_size = static_cast<size_t>(runner_.info().vocab_size);
  logits.resize(logits.size() + vocab_size);
  return std::span(logits).last(vocab_size);
}

}  // namespace slip
