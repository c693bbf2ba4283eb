// Who runs and who waits. Requests keep their order: one that finds no room holds up those behind
// it, so that a long prompt is never starved by short ones.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/runner.h"
#include "engine/limits.h"
#include "engine/sequence.h"
#include "engine/session_bank.h"

namespace slip {

// Owns the sequences and, while they run, their states.
class Scheduler {
 public:
  // `runner` outlives the scheduler.
  //   n_sources        entries of accepted_by_source in the stats
  //   maybe_tokenizer  outlives the scheduler; without one there are no stop strings
  // Throws Error{kInvalidArgument} for a limit below 1.
  Scheduler(Runner& runner, const EngineLimits& limits, const StateOptions& state_options,
            size_t n_sources, const Tokenizer* maybe_tokenizer);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // Puts a request at the end of the line. Throws as Engine::submit.
  SequenceId submit(GenerateRequest request);

  // The sequence, running or waiting; null when there is none of this id.
  Sequence* find(SequenceId id);

  // Starts waiting sequences, in order, for as long as there is room for all their tokens. None is
  // overtaken.
  void admit();

  // In the order in which they were submitted. Valid until the next call that changes the set.
  std::span<Sequence> running();
  std::span<const Sequence> running() const;
  std::span<Sequence> waiting();
  bool empty() const { return sequences_.empty(); }

  // Drops every sequence that is over. Its state is kept where it is sound and there is a place,
  // closed otherwise.
  void remove_finished();

 private:
  void check_request(const GenerateRequest& request) const;
  bool start(Sequence& sequence);
  std::optional<StateId> find_state(std::span<const TokenId> tokens);

  Runner& runner_;
  EngineLimits limits_;
  StateOptions state_options_;
  size_t n_sources_ = 0;
  const Tokenizer* maybe_tokenizer_;
  SessionBank bank_;
  int32_t running_max_ = 0;
  int32_t next_id_ = 0;
  std::vector<Sequence> sequences_;  // in order of submission: those that run, then those that wait
  size_t n_running_ = 0;
  bool is_full_ = false;  // the first in line found no room, and none has come free since
};

}  // namespace slip
