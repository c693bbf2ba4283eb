#include "backend/split_rule.h"

namespace slip {

int32_t split_tokens(int32_t position, int32_t n_splits) {
  const int32_t stride = kCacheBlockTokens * n_splits;
  return kCacheBlockTokens * (position / stride + 1);  // ceil((position + 1) / stride)
}

int32_t rows_until_split_change(int32_t position, int32_t n_splits) {
  const int32_t stride = kCacheBlockTokens * n_splits;
  return stride - position % stride;
}

}  // namespace slip
