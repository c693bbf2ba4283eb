// Where drafts come from. A source proposes tokens that may follow; it never decides anything.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "sample/accept.h"

namespace slip {

// One sequence that could use a draft.
struct DraftQuery {
  SequenceId sequence{};
  StateId state{};
  std::span<const TokenId>
      tokens;         // prompt and answer so far; the last one is pending: decided, not yet run
  int32_t n_max = 0;  // [1, kDraftTokensMax] tokens at most
  // A greedy draft whose tokens have less than this chance to all be right, as far as the source
  // can tell, is long enough.
  double reach_min = 0;
  const SequenceSampling* maybe_sampling = nullptr;  // how its tokens are drawn; null: greedy
};

struct Draft {
  std::vector<TokenId> tokens;  // in order; empty proposes nothing
  std::vector<DraftLaw> laws;   // [tokens] what each was drawn from; empty: all are certain
  int32_t match_tokens =
      0;  // copied spans: how much context agreed before the span; 0 for other sources

  void reserve();                           // for kDraftTokensMax tokens
  void clear();                             // keeps its capacity
  void take(const Draft& other, size_t n);  // the first n tokens of another
};

// What became of one step's draft of this source.
struct DraftOutcome {
  SequenceId sequence{};
  int32_t n_drafted = 0;  // verified tokens; may be fewer than were proposed
  int32_t n_accepted = 0;
};

class DraftSource {
 public:
  virtual ~DraftSource() = default;

  virtual std::string_view name() const = 0;  // "mtp", "copy": key of accepted_by_source

  // True where proposing runs the model, so that a proposal has a price and a zero-length one
  // should not be asked for.
  virtual bool runs_model() const = 0;

  // One draft per query, in order; `drafts` come in empty, with capacity for kDraftTokensMax
  // tokens.
  virtual void propose(std::span<const DraftQuery> queries, std::span<Draft> drafts) = 0;

  // Called after each step for the source whose draft was verified.
  virtual void observe(const DraftOutcome& outcome) = 0;

  // The sequence is over; drop what is known of it.
  virtual void forget(SequenceId sequence) = 0;
};

}  // namespace slip
