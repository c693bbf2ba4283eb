#include "backend/sequence_progress.h"

#include <algorithm>

#include "base/check.h"
#include "base/hash.h"

namespace slip {

int32_t SequenceProgress::first_writable() const {
  return options.keeps_draft_history ? std::min(n_folded, n_draft_entries) : n_folded;
}

StateInfo SequenceProgress::info() const {
  const auto committed = std::span<const TokenId>(ids).first(static_cast<size_t>(n_committed));
  return {.n_committed = n_committed, .token_hash = hash_tokens(committed)};
}

void SequenceProgress::begin(const StateOptions& with) {
  SLIP_CHECK(!is_open && ids.empty());
  is_open = true;
  options = with;
  n_committed = n_folded = n_draft_entries = hidden_begin = 0;
}

void SequenceProgress::follow(const SequenceProgress& parent) {
  SLIP_CHECK(is_open && ids.empty());
  ids.assign(parent.ids.begin(), parent.ids.begin() + parent.n_committed);
  n_committed = parent.n_committed;
  n_folded = parent.n_folded;
  n_draft_entries = parent.n_draft_entries;
  drafted_after = parent.drafted_after;
  hidden_begin = parent.hidden_begin;
}

void SequenceProgress::resume(int32_t n_tokens) {
  SLIP_CHECK(is_open && ids.empty());
  ids.resize(static_cast<size_t>(n_tokens));
  n_committed = n_folded = n_tokens;
  n_draft_entries = hidden_begin = std::max(n_tokens - 1, 0);
}

void SequenceProgress::begin_rows(std::span<const TokenId> tokens) {
  // A draft run assumed some pending token; if another one comes, its last entry is void.
  if (n_draft_entries == n_committed && n_committed > 0 && drafted_after != tokens[0])
    --n_draft_entries;
  ids.insert(ids.end(), tokens.begin(), tokens.end());
}

void SequenceProgress::commit(int32_t n_tokens) {
  n_committed = n_tokens;
  ids.resize(static_cast<size_t>(n_tokens));
}

void SequenceProgress::truncate(int32_t n_tokens) {
  SLIP_CHECK(n_tokens >= n_folded && n_tokens <= n_committed);
  commit(n_tokens);
  // Entry i of the draft head's cache used token i + 1.
  n_draft_entries = std::min(n_draft_entries, std::max(n_tokens - 1, 0));
}

int32_t stored_cache_tokens(int32_t n_committed, bool is_of_draft_head, bool keeps_draft_history) {
  if (!is_of_draft_head) return n_committed;
  return keeps_draft_history ? std::max(n_committed - 1, 0) : 0;
}

}  // namespace slip
