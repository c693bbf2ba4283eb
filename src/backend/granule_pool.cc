#include "backend/granule_pool.h"

#include <numeric>

#include "base/check.h"

namespace slip {
namespace {

// Each holder but one may leave most of its last granule unused.
size_t count_granules(int64_t tokens_max, int32_t n_holders, int32_t granule_tokens) {
  return static_cast<size_t>((tokens_max + granule_tokens - 1) / granule_tokens + n_holders - 1);
}

}  // namespace

GranulePool::GranulePool(int32_t granule_tokens, int64_t tokens_max, int32_t n_holders)
    : granule_tokens_(granule_tokens),
      references_(count_granules(tokens_max, n_holders, granule_tokens), 0),
      free_(references_.size()) {
  std::iota(free_.rbegin(), free_.rend(), 0);
}

std::optional<int32_t> GranulePool::take() {
  if (free_.empty()) return std::nullopt;
  const int32_t granule = free_.back();
  free_.pop_back();
  references_[static_cast<size_t>(granule)] = 1;
  return granule;
}

void GranulePool::share(int32_t granule) {
  int32_t& n = references_[static_cast<size_t>(granule)];
  SLIP_CHECK(n > 0);
  ++n;
}

void GranulePool::release(int32_t granule) {
  int32_t& n = references_[static_cast<size_t>(granule)];
  SLIP_CHECK(n > 0);
  if (--n == 0) free_.push_back(granule);
}

}  // namespace slip
