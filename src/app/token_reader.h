// Runs given tokens through a runner. Unlike an engine it knows what comes, so nothing depends on
// what the model would have said.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "backend/runner.h"

namespace slip {

class TokenReader {
 public:
  // Takes one state of `runner`, which outlives the reader. Throws Error{kInvalidArgument} where
  // the tokens do not fit the context.
  TokenReader(Runner& runner, std::vector<TokenId> tokens, bool with_draft_head);
  ~TokenReader();
  TokenReader(const TokenReader&) = delete;
  TokenReader& operator=(const TokenReader&) = delete;

  int32_t position() const { return position_; }
  int32_t n_tokens() const { return static_cast<int32_t>(tokens_.size()); }

  // Commits tokens up to `end` without asking for logits; stops early when the user interrupts.
  void skip_to(int32_t end);

  // One verify segment of at most `n_rows_max` rows: appends the logits of each, [vocab_size], and
  // commits all of them.
  void verify(int32_t n_rows_max, std::vector<float>& logits);

  // Commits the next token; what the model would say after it, nothing where that is not usable.
  std::optional<TokenId> step();

  // The draft head's logits for the entry of the last token, given the one that follows; returns
  // its choice for the token after that one.
  TokenId draft(std::vector<float>& logits);
  TokenId draft();

 private:
  int32_t rows_to(int32_t end, int32_t n_rows_max) const;
  Batch make_batch(const Segment& segment) const;
  Verdict run(const Segment& segment);
  Verdict commit();
  std::span<float> grow(std::vector<float>& logits) const;

  Runner& runner_;
  std::vector<TokenId> tokens_;
  StateId state_;
  int32_t position_ = 0;
};

}  // namespace slip
