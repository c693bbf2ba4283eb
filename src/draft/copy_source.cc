#include "draft/copy_source.h"

#include <algorithm>

#include "base/check.h"

namespace slip {

CopySource::CopySource(const CopyOptions& options)
    : options_(options),
      entries_(static_cast<size_t>(options.sequences_max), Entry(options.context_tokens_max)) {}

int64_t CopySource::memory_bytes() const {
  return options_.sequences_max *
         (SuffixIndex::bytes(options_.context_tokens_max) + static_cast<int64_t>(sizeof(Entry)));
}

CopySource::Entry* CopySource::maybe_entry(SequenceId sequence) {
  Entry* maybe_free = nullptr;
  for (Entry& entry : entries_) {
    if (entry.is_used && entry.sequence == sequence) return &entry;
    if (!entry.is_used && maybe_free == nullptr) maybe_free = &entry;
  }
  if (maybe_free == nullptr) return nullptr;
  maybe_free->is_used = true;
  maybe_free->sequence = sequence;
  return maybe_free;
}

std::optional<CopyPlace> CopySource::find_place(const Entry& entry,
                                                std::span<const TokenId> tokens) {
  const std::optional<CopyPlace> place = entry.cursor.resume(tokens);
  if (place) return place;
  const std::optional<SuffixMatch> match = entry.suffixes.find(tokens);
  if (!match) return std::nullopt;
  return CopyPlace{.source = match->position,
                   .output = static_cast<int32_t>(tokens.size()),
                   .n_agreeing = match->n_tokens};
}

void CopySource::propose(std::span<const DraftQuery> queries, std::span<Draft> drafts) {
  SLIP_CHECK(queries.size() == drafts.size());
  for (size_t i = 0; i < queries.size(); ++i) {
    const DraftQuery& query = queries[i];
    Entry* entry = maybe_entry(query.sequence);
    if (entry == nullptr) continue;
    entry->suffixes.append(query.tokens);
    entry->cursor.follow(query.tokens);
    const std::optional<CopyPlace> place = find_place(*entry, query.tokens);
    if (!place) continue;
    entry->cursor.copy(query.tokens, *place, query.n_max, drafts[i].tokens);
    drafts[i].match_tokens = place->n_agreeing;
  }
}

void CopySource::forget(SequenceId sequence) {
  for (Entry& entry : entries_) {
    if (!entry.is_used || entry.sequence != sequence) continue;
    entry.is_used = false;
    entry.suffixes.clear();
    entry.cursor = {};
  }
}

}  // namespace slip
