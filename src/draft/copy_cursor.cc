#include "draft/copy_cursor.h"

#include <algorithm>

#include "draft/suffix_index.h"

namespace slip {
namespace {

// Tokens from `a` and from `b` on that agree, both ends kept inside the text.
int32_t agreeing_ahead(std::span<const TokenId> tokens, int32_t a, int32_t b, int32_t n_max) {
  const int32_t limit = std::min(n_max, static_cast<int32_t>(tokens.size()) - std::max(a, b));
  int32_t n = 0;
  while (n < limit && tokens[static_cast<size_t>(a + n)] == tokens[static_cast<size_t>(b + n)]) ++n;
  return n;
}

}  // namespace

const CopyCursor::Edit* CopyCursor::edit_at(int32_t source, int32_t output,
                                            std::span<const TokenId> tokens) const {
  const int32_t n_ahead = static_cast<int32_t>(tokens.size()) - output;
  const size_t n_kept = std::min(n_edits_, kEditsMax);
  for (size_t age = 1; age <= n_kept; ++age) {
    const Edit& edit = edits_[(n_edits_ - age) % kEditsMax];
    const int32_t n_new = std::min(edit.n_new, n_ahead);
    if (agreeing_ahead(tokens, edit.old_begin, source, edit.n_old) == edit.n_old &&
        agreeing_ahead(tokens, edit.new_begin, output, n_new) == n_new) {
      return &edit;
    }
  }
  return nullptr;
}

CopyPlace CopyCursor::advanced(CopyPlace place, std::span<const TokenId> tokens) const {
  const auto n = static_cast<int32_t>(tokens.size());
  while (place.output < n) {
    if (tokens[static_cast<size_t>(place.source)] == tokens[static_cast<size_t>(place.output)]) {
      ++place.source, ++place.output, ++place.n_agreeing;
      continue;
    }
    const Edit* edit = edit_at(place.source, place.output, tokens);
    if (edit == nullptr || place.output + edit->n_new > n) break;
    // A source that runs into its own copy has nothing more to say.
    if (place.source + edit->n_old >= place.output + edit->n_new) break;
    place.source += edit->n_old;
    place.output += edit->n_new;
    place.n_agreeing += edit->n_new;
  }
  return place;
}

void CopyCursor::remember(const CopyPlace& before, const CopyPlace& after,
                          std::span<const TokenId> tokens) {
  const int32_t n_back = std::min(after.source - before.source, after.output - before.output);
  const int32_t n_shared = agreeing_tokens(tokens, after.source, after.output, n_back);
  const Edit edit = {.old_begin = before.source,
                     .n_old = after.source - n_shared - before.source,
                     .new_begin = before.output,
                     .n_new = after.output - n_shared - before.output};
  if (std::min(edit.n_old, edit.n_new) < 1 || std::max(edit.n_old, edit.n_new) > kEditTokensMax)
    return;
  edits_[n_edits_++ % kEditsMax] = edit;
}

void CopyCursor::follow(std::span<const TokenId> tokens) {
  if (home_.output > 0) home_ = advanced(home_, tokens);
  if (trial_.output > 0) {
    const CopyPlace moved = advanced(trial_, tokens);
    const bool is_followed = moved.output > std::max(trial_.output, home_.output);
    const bool is_realigned =
        trial_.source > home_.source && trial_.source - home_.source <= kPartedTokensMax;
    if (is_followed && home_.output > 0 && is_realigned) remember(home_, trial_, tokens);
    // A long agreement says where the answer is, even if the very next token is a change.
    const bool is_first = home_.output == 0 && trial_.n_agreeing >= kCredibleTokens;
    if (is_followed || is_first) home_ = moved;
  }
  trial_ = {};
  if (static_cast<int32_t>(tokens.size()) - home_.output > kPartedTokensMax) home_ = {};
}

std::optional<CopyPlace> CopyCursor::resume(std::span<const TokenId> tokens) const {
  const auto n = static_cast<int32_t>(tokens.size());
  if (home_.output == 0) return std::nullopt;
  if (home_.output == n || edit_at(home_.source, home_.output, tokens) != nullptr) return home_;
  const int32_t n_parted = n - home_.output;
  CopyPlace best;
  const int32_t last = std::min(home_.source + kPartedTokensMax, n - 1);
  for (int32_t source = home_.source + 1; source <= last; ++source) {
    const int32_t n_max = std::min(n_parted, source - home_.source);
    const int32_t n_agreeing = agreeing_tokens(tokens, source, n, n_max);
    if (n_agreeing > best.n_agreeing)
      best = {.source = source, .output = n, .n_agreeing = n_agreeing};
  }
  if (best.n_agreeing == 0) return std::nullopt;
  return best;
}

void CopyCursor::copy(std::span<const TokenId> tokens, const CopyPlace& place, int32_t n_max,
                      std::vector<TokenId>& out) {
  const auto n = static_cast<int32_t>(tokens.size());
  const auto is_full = [&] { return static_cast<int32_t>(out.size()) == n_max; };
  trial_ = place;
  out.clear();
  // Text that has repeated itself over a whole period is expected to go on: then the copy reads its
  // own tokens once it has used up the text.
  const bool is_periodic = place.n_agreeing >= n - place.source;
  int32_t source = place.source;
  int32_t n_written = n - place.output;  // of the replacement that the answer stands in
  while (!is_full()) {
    if (source >= n) {
      const auto behind = static_cast<size_t>(source - n);
      if (!is_periodic || behind >= out.size()) return;
      out.push_back(out[behind]);
      ++source;
      continue;
    }
    const Edit* edit = edit_at(source, n - n_written, tokens);
    if (edit == nullptr) {
      out.push_back(tokens[static_cast<size_t>(source++)]);
      continue;
    }
    for (int32_t i = n_written; i < edit->n_new && !is_full(); ++i) {
      out.push_back(tokens[static_cast<size_t>(edit->new_begin + i)]);
    }
    source += edit->n_old;
    n_written = 0;
  }
}

}  // namespace slip
