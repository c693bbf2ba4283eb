// How far a sequence has come: what a runner keeps of a state besides the memory of its device. All
// runners count alike.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/batch.h"
#include "backend/runner.h"

namespace slip {

struct SequenceProgress {
  bool is_open = false;
  StateOptions options;
  std::vector<TokenId>
      ids;  // tokens of rows run, [>= n_committed]; drafts of the last forward included

  int32_t n_committed = 0;  // tokens that count
  // Of these, already part of the recurrent state; the inputs of the others, at most
  // kDraftTokensMax, are kept.
  int32_t n_folded = 0;
  // Entries of the draft head's cache that used the target's hidden states: at least hidden_begin.
  // Those of later tokens, up to n_committed - 2, can be made up for.
  int32_t n_draft_entries = 0;
  TokenId
      drafted_after{};  // the pending token that entry n_committed - 1 assumed, where there is one
  int32_t hidden_begin = 0;  // position of the first hidden row that is kept

  int32_t n_to_fold() const { return n_committed - n_folded; }

  // Positions from here on may still be written, in some layer; everything below is final.
  int32_t first_writable() const;

  StateInfo info() const;

  // An empty sequence. Keeps the capacity of `ids`.
  void begin(const StateOptions& with);
  // From an empty sequence to where `parent` is, whose uncommitted tokens it does not take over.
  void follow(const SequenceProgress& parent);

  // From an empty sequence to one of `n_tokens` that were stored: all folded, the draft head's
  // entries whole, one hidden row kept. The caller fills in `ids`.
  void resume(int32_t n_tokens);

  // The rows of a segment at n_committed are about to run.
  void begin_rows(std::span<const TokenId> tokens);
  // Rows before `n_tokens` count. Those beyond are forgotten.
  void commit(int32_t n_tokens);
  // See Runner::truncate.
  void truncate(int32_t n_tokens);
};

// Tokens that a KV layer holds in a stored state: the draft head's cache lags by the entry whose
// next token is not the state's.
int32_t stored_cache_tokens(int32_t n_committed, bool is_of_draft_head, bool keeps_draft_history);

}  // namespace slip
