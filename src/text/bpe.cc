#include "text/bpe.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/check.h"
#include "base/hash.h"

namespace slip {
namespace {

// The finalizer of MurmurHash3: every bit of the key moves every bit of the answer.
uint64_t mixed(uint64_t key) {
  key = (key ^ key >> 33) * 0xFF51AFD7ED558CCDu;
  key = (key ^ key >> 33) * 0xC4CEB9FE1A85EC53u;
  return key ^ key >> 33;
}

}  // namespace

// The seed depends on all merges, so that no file can choose merges that meet in one place.
Bpe::Bpe(const std::array<TokenId, 256>& byte_ids, std::span<const Merge> merges)
    : byte_ids_(byte_ids),
      targets_(std::bit_ceil(2 * merges.size() + 1)),
      seed_(hash_bytes(std::as_bytes(merges))) {
  int32_t rank = 0;
  for (const Merge& m : merges) {
    const uint64_t pair = key(m.left, m.right);
    targets_[place_of(pair)] = {pair, rank++, m.merged};
  }
}

size_t Bpe::place_of(uint64_t key) const {
  const size_t mask = targets_.size() - 1;
  size_t place = mixed(key ^ seed_) & mask;
  while (targets_[place].key != key && targets_[place].key != kNoKey) place = (place + 1) & mask;
  return place;
}

void Bpe::encode(std::string_view word, Scratch& scratch, std::vector<TokenId>& out) const {
  SLIP_CHECK(word.size() <= size_t{std::numeric_limits<int32_t>::max()});
  const auto n_bytes = static_cast<int32_t>(word.size());
  scratch.symbols.clear();
  for (int32_t i = 0; i < n_bytes; ++i) {
    const auto byte = static_cast<unsigned char>(word[static_cast<size_t>(i)]);
    scratch.symbols.push_back({byte_ids_[byte], i - 1, i + 1 < n_bytes ? i + 1 : -1});
  }
  scratch.candidates.clear();
  for (int32_t i = 0; i < n_bytes; ++i) {
    if (const auto candidate = candidate_at(scratch, i)) scratch.candidates.push_back(*candidate);
  }
  std::make_heap(scratch.candidates.begin(), scratch.candidates.end());

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

std::optional<Bpe::Scratch::Candidate> Bpe::candidate_at(const Scratch& scratch,
                                                         int32_t position) const {
  const Scratch::Symbol& left = scratch.symbols[static_cast<size_t>(position)];
  if (left.next < 0) return std::nullopt;
  const TokenId right = scratch.symbols[static_cast<size_t>(left.next)].id;
  const Target& target = targets_[place_of(key(left.id, right))];
  if (target.key == kNoKey) return std::nullopt;
  return Scratch::Candidate{target.rank, position, left.id, right, target.merged};
}

void Bpe::push_candidate(Scratch& scratch, int32_t position) const {
  const auto candidate = candidate_at(scratch, position);
  if (!candidate) return;
  scratch.candidates.push_back(*candidate);
  std::push_heap(scratch.candidates.begin(), scratch.candidates.end());
}

void Bpe::merge(Scratch& scratch, const Scratch::Candidate& candidate) const {
  Scratch::Symbol& left = scratch.symbols[static_cast<size_t>(candidate.position)];
  if (left.id != candidate.left || left.next < 0) return;
  Scratch::Symbol& right = scratch.symbols[static_cast<size_t>(left.next)];
  if (right.id != candidate.right) return;
  left.id = candidate.merged;
  left.next = right.next;
  right.id = kNoToken;
  if (left.next >= 0) {
    scratch.symbols[static_cast<size_t>(left.next)].previous = candidate.position;
    push_candidate(scratch, candidate.position);
  }
  if (left.previous >= 0) push_candidate(scratch, left.previous);
}

}  // namespace slip
