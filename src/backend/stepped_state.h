// A state that runs made-up tokens: what steps are measured on. Random drafts are rarely accepted,
// and what is accepted all the same is taken back, so every verify step moves it by one token.
#pragma once

#include <cstdint>
#include <functional>

#include "backend/runner.h"

namespace slip {

class SteppedState {
 public:
  // Takes over an open state of `runner`, which outlives this object, and closes it at the end.
  SteppedState(Runner& runner, StateId state);
  ~SteppedState();
  SteppedState(const SteppedState&) = delete;
  SteppedState& operator=(const SteppedState&) = delete;

  StateId id() const { return state_; }
  int32_t position() const { return position_; }  // of the next token
  TokenId token_at(int32_t position) const;

  // Rows that a segment may have here.
  int32_t rows_in_split() const;

  // Commits the tokens before `end`, for which there is room. Soon ends where `is_cancelled`, asked
  // between steps, says so.
  void read_to(int32_t end, const std::function<bool()>& is_cancelled = {});

  // A segment of one certain token and drafts, of which the certain one is kept.
  //   n_rows  at most rows_in_split(), for which there is room
  void verify(int32_t n_rows);

 private:
  void run(const Segment& segment);

  Runner& runner_;
  StateId state_;
  int32_t position_;
  Batch batch_;
  Verdict verdict_;
};

// The token at `position` of a made-up text. Any will do; different ones, since experts are chosen
// by token.
TokenId made_up_token(int32_t position, int32_t vocab_size);

}  // namespace slip
