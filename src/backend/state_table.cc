#include "backend/state_table.h"

#include <algorithm>

#include "base/check.h"

namespace slip {

StateTable::StateTable(const StateLimits& limits, int32_t granule_tokens)
    : context_tokens_max_(limits.context_tokens_max),
      pool_(granule_tokens, limits.cache_tokens_max, /*n_holders=*/limits.states_max),
      held_(static_cast<size_t>(limits.states_max)) {
  for (Held& held : held_) {
    held.progress.ids.reserve(static_cast<size_t>(limits.context_tokens_max));
    held.granules.reserve(static_cast<size_t>(pool_.n_for(limits.context_tokens_max)));
  }
}

const StateTable::Held& StateTable::held(StateId id) const {
  SLIP_CHECK(index(id) < held_.size() && held_[index(id)].progress.is_open);
  return held_[index(id)];
}

SequenceProgress& StateTable::operator[](StateId id) { return held(id).progress; }
const SequenceProgress& StateTable::operator[](StateId id) const { return held(id).progress; }

std::optional<StateId> StateTable::open(const StateOptions& options) {
  const auto it =
      std::ranges::find_if(held_, [](const Held& held) { return !held.progress.is_open; });
  if (it == held_.end()) return std::nullopt;
  SLIP_CHECK(it->granules.empty());
  const auto id = static_cast<StateId>(it - held_.begin());
  it->progress.begin(options);
  // An empty history is zeros; kept inputs are written before they are read.
  clear(id);
  return id;
}

void StateTable::close(StateId id) {
  release(id, 0);
  Held& state = held(id);
  state.progress.ids.clear();
  state.progress.is_open = false;
}

bool StateTable::append(StateId id, int32_t granule) {
  const bool is_attached = attach(id, granule);
  if (is_attached) {
    held(id).granules.push_back(granule);
  } else {
    pool_.release(granule);
  }
  return is_attached;
}

void StateTable::release(StateId id, size_t n_kept) {
  std::vector<int32_t>& granules = held(id).granules;
  detach(id, n_kept);
  for (; granules.size() > n_kept; granules.pop_back()) pool_.release(granules.back());
}

int32_t StateTable::tokens_reserved(StateId id) const {
  return static_cast<int32_t>(held(id).granules.size()) * pool_.granule_tokens();
}

bool StateTable::reserve(StateId id, int32_t n_tokens) {
  if (n_tokens > context_tokens_max_) return false;
  const size_t n_held = held(id).granules.size();
  const int32_t missing = pool_.n_for(n_tokens) - static_cast<int32_t>(n_held);
  if (missing > pool_.n_free()) return false;
  for (int32_t i = 0; i < missing; ++i) {
    if (append(id, *pool_.take())) continue;
    release(id, n_held);
    return false;
  }
  return true;
}

std::optional<StateId> StateTable::fork(StateId id) {
  const Held& parent = held(id);
  const int32_t n_shared = parent.progress.first_writable() / pool_.granule_tokens();
  // Granules in use, without those that are reserved but empty.
  const int32_t n_used = pool_.n_for(parent.progress.n_committed);
  if (n_used - n_shared > pool_.n_free()) return std::nullopt;

  const std::optional<StateId> child = open(parent.progress.options);
  if (!child) return std::nullopt;
  held(*child).progress.follow(parent.progress);
  for (int32_t i = 0; i < n_used; ++i) {
    const int32_t granule = parent.granules[static_cast<size_t>(i)];
    const bool is_shared = i < n_shared;
    if (is_shared) pool_.share(granule);
    if (!append(*child, is_shared ? granule : *pool_.take())) {
      close(*child);
      return std::nullopt;
    }
    if (!is_shared) copy_granule(id, *child, static_cast<size_t>(i));
  }
  copy(id, *child);
  return child;
}

}  // namespace slip
