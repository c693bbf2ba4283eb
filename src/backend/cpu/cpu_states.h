// The sequences of a runner on the CPU: cache blocks in granules of about 2 MiB, and a recurrent
// state each.
#pragma once

#include <span>
#include <vector>

#include "backend/cpu/sequence_state.h"
#include "backend/state_table.h"
#include "tensor/buffer.h"

namespace slip::cpu {

class CpuStates final : public StateTable {
 public:
  // Pages of the cache are touched when they are first written. Throws Error{kInsufficientMemory}
  // when the plan does not fit the address space.
  CpuStates(const StateLayout& layout, const StateLimits& limits);

  const StateLayout& layout() const { return layout_; }
  std::span<SequenceState> all() { return states_; }  // indexed by StateId; open or not
  SequenceState& memory(StateId id) { return states_[index(id)]; }
  int64_t cache_bytes() const { return static_cast<int64_t>(cache_.n_bytes()); }

  size_t body_bytes(int32_t n_tokens, bool keeps_draft_history) const override;
  void write_body(StateId id, std::span<std::byte> bytes) override;
  void read_body(StateId id, std::span<const std::byte> bytes) override;

 private:
  void clear(StateId id) override;
  void copy(StateId from, StateId to) override;
  bool attach(StateId id, int32_t granule) override;
  void detach(StateId id, size_t n_kept) override;
  void copy_granule(StateId from, StateId to, size_t i) override;

  size_t granule_bytes() const;
  std::byte* granule(int32_t index) const {
    return cache_.data() + static_cast<size_t>(index) * granule_bytes();
  }

  StateLayout layout_;
  ByteBuffer cache_;                   // [n_granules, granule_bytes]
  std::vector<SequenceState> states_;  // [states_max]
};

}  // namespace slip::cpu
