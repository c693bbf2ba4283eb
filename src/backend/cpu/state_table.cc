#include "backend/cpu/state_table.h"

#include <algorithm>

#include "base/check.h"

namespace slip::cpu {

namespace {

void copy(const FloatBuffer& from, FloatBuffer& to) {
  std::copy_n(from.data(), from.size(), to.data());
}

}  // namespace

StateTable::StateTable(const StateLayout& layout, int32_t states_max, int32_t context_tokens_max,
                       int64_t cache_tokens_max)
    : layout_(layout),
      context_tokens_max_(context_tokens_max),
      pool_(layout.kv, cache_tokens_max, /*n_holders=*/states_max),
      states_(static_cast<size_t>(states_max)) {
  const auto n_layers = static_cast<size_t>(layout.n_recurrent_layers);
  const auto n_tokens = static_cast<size_t>(context_tokens_max);
  for (SequenceState& state : states_) {
    state.recurrent = FloatBuffer(n_layers * layout.recurrent_floats());
    state.conv = FloatBuffer(n_layers * layout.conv_floats());
    state.kept = FloatBuffer(n_layers * layout.kept_floats());
    state.ids.reserve(n_tokens);
    state.blocks.reserve(n_tokens / kCacheBlockTokens +
                         static_cast<size_t>(pool_.blocks_per_granule()));
    state.granules.reserve(n_tokens / static_cast<size_t>(pool_.granule_tokens()) + 1);
  }
}

SequenceState& StateTable::operator[](StateId id) {
  SLIP_CHECK(index(id) < states_.size());
  SequenceState& state = states_[index(id)];
  SLIP_CHECK(state.is_open);
  return state;
}

const SequenceState& StateTable::operator[](StateId id) const {
  return const_cast<StateTable&>(*this)[id];
}

std::optional<StateId> StateTable::open(const StateOptions& options) {
  const auto it = std::find_if(states_.begin(), states_.end(),
                               [](const SequenceState& s) { return !s.is_open; });
  if (it == states_.end()) return std::nullopt;
  SLIP_CHECK(it->blocks.empty());
  it->begin(options);
  // An empty history is zeros; kept inputs are written before they are read.
  std::ranges::fill(it->recurrent.span(), 0.0f);
  std::ranges::fill(it->conv.span(), 0.0f);
  return StateId{static_cast<int32_t>(it - states_.begin())};
}

void StateTable::close(StateId id) {
  SequenceState& state = (*this)[id];
  for (const int32_t granule : state.granules) pool_.release(granule);
  state.granules.clear();
  state.blocks.clear();
  state.ids.clear();
  state.is_open = false;
}

void StateTable::append_granule(SequenceState& state, int32_t granule) {
  state.granules.push_back(granule);
  for (int32_t i = 0; i < pool_.blocks_per_granule(); ++i)
    state.blocks.push_back(pool_.block(granule, i));
}

int32_t StateTable::tokens_reserved(StateId id) const {
  return static_cast<int32_t>((*this)[id].blocks.size()) * kCacheBlockTokens;
}

bool StateTable::reserve(StateId id, int32_t n_tokens) {
  SequenceState& state = (*this)[id];
  if (n_tokens > context_tokens_max_) return false;
  const int32_t wanted = (n_tokens + pool_.granule_tokens() - 1) / pool_.granule_tokens();
  const int32_t missing = wanted - static_cast<int32_t>(state.granules.size());
  if (missing > pool_.n_free()) return false;
  for (int32_t i = 0; i < missing; ++i) append_granule(state, *pool_.take());
  return true;
}

std::optional<StateId> StateTable::fork(StateId id) {
  const SequenceState& parent = (*this)[id];
  const auto n_shared = static_cast<size_t>(parent.first_writable() / pool_.granule_tokens());
  // Granules in use, without those that are reserved but empty.
  const auto n_used = static_cast<size_t>((parent.n_committed + pool_.granule_tokens() - 1) /
                                          pool_.granule_tokens());
  if (n_used - n_shared > static_cast<size_t>(pool_.n_free())) return std::nullopt;

  const std::optional<StateId> child_id = open(parent.options);
  if (!child_id) return std::nullopt;
  SequenceState& child = (*this)[*child_id];
  child.follow(parent);
  for (size_t i = 0; i < n_used; ++i) {
    if (i < n_shared) {
      pool_.share(parent.granules[i]);
      append_granule(child, parent.granules[i]);
    } else {
      append_granule(child, *pool_.take());
      std::copy_n(pool_.block(parent.granules[i], 0), pool_.granule_bytes(),
                  pool_.block(child.granules[i], 0));
    }
  }
  copy(parent.recurrent, child.recurrent);
  copy(parent.conv, child.conv);
  copy(parent.kept, child.kept);
  return child_id;
}

}  // namespace slip::cpu
