// The sequences of one runner: which are open, how far each has come, which granules of cache it
// holds. A device derives from it and keeps the memory. All of it is planned at load.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "backend/granule_pool.h"
#include "backend/sequence_progress.h"

namespace slip {

// What the table is sized from.
struct StateLimits {
  int32_t states_max = 0;
  int32_t context_tokens_max = 0;
  int64_t cache_tokens_max = 0;  // that all sequences together can hold at least
};

class StateTable {
 public:
  StateTable(const StateLimits& limits, int32_t granule_tokens);
  virtual ~StateTable() = default;
  StateTable(const StateTable&) = delete;
  StateTable& operator=(const StateTable&) = delete;

  // As the functions of Runner.
  std::optional<StateId> open(const StateOptions& options);
  void close(StateId id);
  std::optional<StateId> fork(StateId id);
  bool reserve(StateId id, int32_t n_tokens);

  SequenceProgress& operator[](StateId id);  // of an open state
  const SequenceProgress& operator[](StateId id) const;

  int32_t tokens_reserved(StateId id) const;
  std::span<const int32_t> granules(StateId id) const { return held(id).granules; }
  const GranulePool& pool() const { return pool_; }

  // The content of a state that is folded, its token ids and hidden rows aside: equal states give
  // equal bytes. A state that reads it has room for its tokens.
  //   n_tokens  committed
  virtual size_t body_bytes(int32_t n_tokens, bool keeps_draft_history) const = 0;
  virtual void write_body(StateId id, std::span<std::byte> bytes) = 0;
  virtual void read_body(StateId id, std::span<const std::byte> bytes) = 0;

 protected:
  int32_t states_max() const { return static_cast<int32_t>(held_.size()); }

  // What the device does. The table calls them.
  virtual void clear(StateId id) = 0;               // recurrent state and history become zero
  virtual void copy(StateId from, StateId to) = 0;  // recurrent state, history, kept inputs
  // Behind those that it has. False where the device refuses: nothing has changed then.
  virtual bool attach(StateId id, int32_t granule) = 0;
  virtual void detach(StateId id, size_t n_kept) = 0;                 // all but the first `n_kept`
  virtual void copy_granule(StateId from, StateId to, size_t i) = 0;  // number i of each

 private:
  struct Held {
    SequenceProgress progress;
    std::vector<int32_t> granules;  // in order
  };
  const Held& held(StateId id) const;
  Held& held(StateId id) { return const_cast<Held&>(std::as_const(*this).held(id)); }
  // Takes over the caller's reference to the granule. False where the device refuses it.
  bool append(StateId id, int32_t granule);
  void release(StateId id, size_t n_kept);

  int32_t context_tokens_max_;
  GranulePool pool_;
  std::vector<Held> held_;  // [states_max]
};

}  // namespace slip
