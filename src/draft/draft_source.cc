#include "draft/draft_source.h"

#include "backend/batch.h"

namespace slip {

void Draft::reserve() {
  tokens.reserve(kDraftTokensMax);
  laws.reserve(kDraftTokensMax);
}

void Draft::clear() {
  tokens.clear();
  laws.clear();
  match_tokens = 0;
}

void Draft::take(const Draft& other, size_t n) {
  const auto end = static_cast<std::ptrdiff_t>(n);
  tokens.assign(other.tokens.begin(), other.tokens.begin() + end);
  laws.assign(other.laws.begin(), other.laws.begin() + (other.laws.empty() ? 0 : end));
  match_tokens = other.match_tokens;
}

}  // namespace slip
