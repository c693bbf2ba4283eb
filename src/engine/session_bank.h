// States of finished sequences, kept so that a conversation that goes on need not be read again. A
// state is given back only to a text that it is proven to be the begin of.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "backend/runner.h"

namespace slip {

class SessionBank {
 public:
  // `runner` outlives the bank.
  //   states_max  kept at once; 0: none
  SessionBank(Runner& runner, int32_t states_max);
  ~SessionBank();
  SessionBank(const SessionBank&) = delete;
  SessionBank& operator=(const SessionBank&) = delete;

  // Takes a state over. The one that was used longest ago makes room.
  void put(StateId state);

  // The state that covers the most of `tokens`, all but the last of them at most; it belongs to the
  // caller then. Proven by the hash of the token ids that the state says it covers.
  std::optional<StateId> take(std::span<const TokenId> tokens);

  // Gives the room of the oldest state back. False when there is none.
  bool drop_oldest();

  size_t n_states() const { return states_.size(); }

 private:
  Runner& runner_;
  size_t states_max_;
  std::vector<StateId> states_;  // oldest first
};

}  // namespace slip
