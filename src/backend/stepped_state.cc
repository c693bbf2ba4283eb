#include "backend/stepped_state.h"

#include <algorithm>

#include "backend/split_rule.h"

namespace slip {

TokenId made_up_token(int32_t position, int32_t vocab_size) {
  const auto spread = static_cast<uint32_t>(position) * 0x9E3779B1u;  // 2^32 / golden ratio
  return TokenId{static_cast<int32_t>(spread % static_cast<uint32_t>(vocab_size))};
}

SteppedState::SteppedState(Runner& runner, StateId state)
    : runner_(runner), state_(state), position_(runner.state_info(state).n_committed) {}

SteppedState::~SteppedState() { runner_.close(state_); }

TokenId SteppedState::token_at(int32_t position) const {
  return made_up_token(position, runner_.info().vocab_size);
}

int32_t SteppedState::rows_in_split() const {
  return rows_until_split_change(position_, runner_.info().n_splits);
}

void SteppedState::read_to(int32_t end, const std::function<bool()>& is_cancelled) {
  while (position_ < end && !(is_cancelled && is_cancelled())) {
    const int32_t n = std::min({end - position_, runner_.info().batch_rows_max, rows_in_split()});
    run({.state = state_, .position = position_, .n_rows = n, .n_certain = n, .wants_next = false});
    position_ += n;
  }
}

void SteppedState::verify(int32_t n_rows) {
  run({.state = state_, .position = position_, .n_rows = n_rows, .n_certain = 1});
  ++position_;
  if (verdict_.n_accepted > 0) runner_.truncate(state_, position_);
}

void SteppedState::run(const Segment& segment) {
  batch_.tokens.clear();
  for (int32_t i = 0; i < segment.n_rows; ++i)
    batch_.tokens.push_back(token_at(segment.position + i));
  batch_.segments.assign(1, segment);
  runner_.forward(batch_);
  runner_.accept({}, {&verdict_, 1});
}

}  // namespace slip
