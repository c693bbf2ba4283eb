// The sequence states of one runner and the cache blocks they hold. All memory is planned in the
// constructor.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "backend/cpu/kv_pool.h"
#include "backend/cpu/sequence_state.h"

namespace slip::cpu {

class StateTable {
 public:
  // Throws Error{kInsufficientMemory} when the plan does not fit the address space.
  StateTable(const StateLayout& layout, int32_t states_max, int32_t context_tokens_max,
             int64_t cache_tokens_max);

  std::optional<StateId> open(const StateOptions& options);
  void close(StateId id);
  std::optional<StateId> fork(StateId id);
  bool reserve(StateId id, int32_t n_tokens);

  SequenceState& operator[](StateId id);  // an open state
  const SequenceState& operator[](StateId id) const;
  std::span<SequenceState> all() { return states_; }  // indexed by StateId; open or not

  const StateLayout& layout() const { return layout_; }
  const KvPool& pool() const { return pool_; }
  int32_t tokens_reserved(StateId id) const;

 private:
  void append_granule(SequenceState& state, int32_t granule);

  StateLayout layout_;
  int32_t context_tokens_max_;
  KvPool pool_;
  std::vector<SequenceState> states_;  // [states_max]
};

}  // namespace slip::cpu
