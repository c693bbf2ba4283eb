// The memory of all KV caches: granules of about 2 MiB, reference-counted so that forks share them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "backend/cpu/kv_layout.h"
#include "tensor/buffer.h"

namespace slip::cpu {

class KvPool {
 public:
  // Plans room for at least `tokens_max` tokens, however they are spread over `n_holders` holders
  // that each take whole granules; pages are touched when they are first written. Throws
  // Error{kInsufficientMemory} when the address space is refused.
  KvPool(const KvLayout& layout, int64_t tokens_max, int32_t n_holders);

  const KvLayout& layout() const { return layout_; }
  int32_t granule_tokens() const { return blocks_per_granule_ * kCacheBlockTokens; }
  int32_t n_granules() const { return static_cast<int32_t>(references_.size()); }
  int32_t n_free() const { return static_cast<int32_t>(free_.size()); }
  int64_t n_bytes() const { return static_cast<int64_t>(memory_.n_bytes()); }

  std::optional<int32_t> take();  // with one reference; nothing when all are in use
  void share(int32_t granule);    // one more reference
  void release(int32_t granule);  // one less; the last one frees it

  // Cache block `block` of a granule, [layout().block_bytes()].
  std::byte* block(int32_t granule, int32_t block) const;
  int32_t blocks_per_granule() const { return blocks_per_granule_; }
  size_t granule_bytes() const {
    return static_cast<size_t>(blocks_per_granule_) * layout_.block_bytes();
  }

 private:
  KvLayout layout_;
  int32_t blocks_per_granule_;
  ByteBuffer memory_;
  std::vector<int32_t> references_;  // [n_granules]
  std::vector<int32_t> free_;        // last one is taken next, so that warm pages are used again
};

}  // namespace slip::cpu
