#include "text/bpe.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace slip {

Bpe::Bpe(const std::array<TokenId, 256>& byte_ids, std::span<const Merge> merges)
    : byte_ids_(byte_ids) {
  targets_.reserve(merges.size());
  int32_t rank = 0;
  for (const Merge& m : merges) {
    targets_.insert_or_assign(key(m.left, m.right), Target{rank++, m.merged});
  }
}

void Bpe::encode(std::string_view word, Scratch& scratch, std::vector<TokenId>& out) const {
  SLIP_CHECK(word.size() <= size_t{std::numeric_limits<int32_t>::max()});
  const auto n_bytes = static_cast<int32_t>(word.size());
  scratch.symbols.clear();
  scratch.candidates.clear();
  for (int32_t i = 0; i < n_bytes; ++i) {
    const auto byte = static_cast<unsigned char>(word[static_cast<size_t>(i)]);
    scratch.symbols.push_back({byte_ids_[byte], i - 1, i + 1 < n_bytes ? i + 1 : -1});
  }
  for (int32_t i = 0; i < n_bytes; ++i) consider(scratch, i);

  while (!scratch.candidates.empty()) {
    std::pop_heap(scratch.candidates.begin(), scratch.candidates.end());
    const Scratch::Candidate best = scratch.candidates.back();
    scratch.candidates.pop_back();
    merge(scratch, best);
  }
  for (int32_t i = n_bytes > 0 ? 0 : -1; i >= 0;) {
    const Scratch::Symbol& symbol = scratch.symbols[static_cast<size_t>(i)];
    out.push_back(symbol.id);
    i = symbol.next;
  }
}

// Queues the pair that begins at `position`, if the two merge.
void Bpe::consider(Scratch& scratch, int32_t position) const {
  const Scratch::Symbol& left = scratch.symbols[static_cast<size_t>(position)];
  if (left.next < 0) return;
  const TokenId right = scratch.symbols[static_cast<size_t>(left.next)].id;
  const auto target = targets_.find(key(left.id, right));
  if (target == targets_.end()) return;
  scratch.candidates.push_back({target->second.rank, position, left.id, right});
  std::push_heap(scratch.candidates.begin(), scratch.candidates.end());
}

void Bpe::merge(Scratch& scratch, const Scratch::Candidate& candidate) const {
  Scratch::Symbol& left = scratch.symbols[static_cast<size_t>(candidate.position)];
  if (left.id != candidate.left || left.next < 0) return;
  Scratch::Symbol& right = scratch.symbols[static_cast<size_t>(left.next)];
  if (right.id != candidate.right) return;
  left.id = targets_.at(key(candidate.left, candidate.right)).merged;
  left.next = right.next;
  right.id = kNoToken;
  if (left.next >= 0) {
    scratch.symbols[static_cast<size_t>(left.next)].previous = candidate.position;
    consider(scratch, candidate.position);
  }
  if (left.previous >= 0) consider(scratch, left.previous);
}

}  // namespace slip
