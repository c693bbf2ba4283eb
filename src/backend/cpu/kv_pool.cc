#include "backend/cpu/kv_pool.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace slip::cpu {

namespace {

constexpr size_t kGranuleBytes =
    size_t{2} << 20;  // a huge page: small enough to waste little, large enough to map rarely

int32_t count_blocks_per_granule(const KvLayout& layout) {
  return static_cast<int32_t>(std::max<size_t>(1, kGranuleBytes / layout.block_bytes()));
}

// Each holder but one may leave most of its last granule unused.
size_t count_granules(int64_t tokens_max, int32_t n_holders, int32_t granule_tokens) {
  return static_cast<size_t>((tokens_max + granule_tokens - 1) / granule_tokens + n_holders - 1);
}

}  // namespace

KvPool::KvPool(const KvLayout& layout, int64_t tokens_max, int32_t n_holders)
    : layout_(layout),
      blocks_per_granule_(count_blocks_per_granule(layout)),
      memory_(count_granules(tokens_max, n_holders, granule_tokens()) * granule_bytes()),
      references_(count_granules(tokens_max, n_holders, granule_tokens()), 0),
      free_(references_.size()) {
  std::iota(free_.rbegin(), free_.rend(), 0);
}

std::optional<int32_t> KvPool::take() {
  if (free_.empty()) return std::nullopt;
  const int32_t granule = free_.back();
  free_.pop_back();
  references_[static_cast<size_t>(granule)] = 1;
  return granule;
}

void KvPool::share(int32_t granule) {
  int32_t& n = references_[static_cast<size_t>(granule)];
  SLIP_CHECK(n > 0);
  ++n;
}

void KvPool::release(int32_t granule) {
  int32_t& n = references_[static_cast<size_t>(granule)];
  SLIP_CHECK(n > 0);
  if (--n == 0) free_.push_back(granule);
}

std::byte* KvPool::block(int32_t granule, int32_t block) const {
  SLIP_CHECK(block < blocks_per_granule_);
  return memory_.data() + static_cast<size_t>(granule) * granule_bytes() +
         static_cast<size_t>(block) * layout_.block_bytes();
}

}  // namespace slip::cpu
