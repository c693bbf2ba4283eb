// Drafts by copying: what followed the last time the text looked like this. Knows one index and one
// cursor a sequence.
#pragma once

#include <cstdint>
#include <vector>

#include "draft/copy_cursor.h"
#include "draft/draft_source.h"
#include "draft/suffix_index.h"

namespace slip {

struct CopyOptions {
  int32_t sequences_max = 8;       // indexed at once; further ones get no drafts
  int32_t context_tokens_max = 0;  // longest sequence, prompt and answer together
};

class CopySource : public DraftSource {
 public:
  // All memory there will ever be: memory_bytes().
  explicit CopySource(const CopyOptions& options);

  std::string_view name() const override { return "copy"; }
  bool runs_model() const override { return false; }
  // Tokens of a sequence only grow between calls.
  void propose(std::span<const DraftQuery> queries, std::span<Draft> drafts) override;
  void observe(const DraftOutcome&) override {}  // the next query's tokens tell it
  void forget(SequenceId sequence) override;

  int64_t memory_bytes() const;

 private:
  struct Entry {
    explicit Entry(int32_t context_tokens_max) : suffixes(context_tokens_max) {}
    bool is_used = false;
    SequenceId sequence{};
    SuffixIndex suffixes;
    CopyCursor cursor;
  };

  // The sequence's entry, a free one made its own, or null.
  Entry* maybe_entry(SequenceId sequence);
  static std::optional<CopyPlace> find_place(const Entry& entry, std::span<const TokenId> tokens);

  CopyOptions options_;
  std::vector<Entry> entries_;
};

}  // namespace slip
