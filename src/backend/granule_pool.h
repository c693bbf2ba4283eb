// Which granules of cache are in use, and by how many: forks share those that are full. A granule
// is a fixed number of cache blocks; what lies in it is the device's.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace slip {

class GranulePool {
 public:
  // Room for at least `tokens_max` tokens, however they are spread over `n_holders` holders that
  // each take whole granules.
  GranulePool(int32_t granule_tokens, int64_t tokens_max, int32_t n_holders);

  int32_t granule_tokens() const { return granule_tokens_; }
  int32_t n_granules() const { return static_cast<int32_t>(references_.size()); }
  int32_t n_free() const { return static_cast<int32_t>(free_.size()); }
  // That hold `n_tokens`.
  int32_t n_for(int32_t n_tokens) const {
    return (n_tokens + granule_tokens_ - 1) / granule_tokens_;
  }

  std::optional<int32_t> take();  // with one reference; nothing when all are in use
  void share(int32_t granule);    // one more reference
  void release(int32_t granule);  // one less; the last one frees it

 private:
  int32_t granule_tokens_;
  std::vector<int32_t> references_;  // [n_granules]
  std::vector<int32_t> free_;        // last one is taken next, so that warm pages are used again
};

}  // namespace slip
