#include "engine/session_bank.h"

#include "base/hash.h"

namespace slip {

SessionBank::SessionBank(Runner& runner, int32_t states_max)
    : runner_(runner), states_max_(static_cast<size_t>(states_max)) {
  states_.reserve(states_max_ + 1);
}

SessionBank::~SessionBank() {
  while (drop_oldest()) {
  }
}

void SessionBank::put(StateId state) {
  states_.push_back(state);
  while (states_.size() > states_max_) drop_oldest();
}

std::optional<StateId> SessionBank::take(std::span<const TokenId> tokens) {
  auto best = states_.end();
  size_t n_best = 0;
  for (auto state = states_.begin(); state != states_.end(); ++state) {
    const StateInfo info = runner_.state_info(*state);
    const auto n = static_cast<size_t>(info.n_committed);
    if (n <= n_best || n >= tokens.size() || hash_tokens(tokens.first(n)) != info.token_hash)
      continue;
    best = state;
    n_best = n;
  }
  if (best == states_.end()) return std::nullopt;
  const StateId state = *best;
  states_.erase(best);
  return state;
}

bool SessionBank::drop_oldest() {
  if (states_.empty()) return false;
  runner_.close(states_.front());
  states_.erase(states_.begin());
  return true;
}

}  // namespace slip
