#include "model/families/delta_net_rows.h"

namespace slip {

namespace {

// The rows [begin, begin + n) of every key head's block of `block` rows, head after head.
void append(std::vector<int32_t>& rows, int32_t n_heads, int32_t block, int32_t begin, int32_t n) {
  for (int32_t head = 0; head < n_heads; ++head) {
    for (int32_t i = 0; i < n; ++i) rows.push_back(head * block + begin + i);
  }
}

}  // namespace

DeltaNetRows delta_net_rows(const DeltaNetConfig& config) {
  const int32_t n = config.n_key_heads;
  const int32_t ratio = config.n_value_heads / n;
  const int32_t key = config.key_dim;
  const int32_t values = ratio * config.value_dim;  // rows of one key head's value heads
  const int32_t block = 2 * key + 2 * values;
  DeltaNetRows rows;
  append(rows.qkv, n, block, 0, key);
  append(rows.qkv, n, block, key, key);
  append(rows.qkv, n, block, 2 * key, values);
  append(rows.z, n, block, 2 * key + values, values);
  append(rows.b, n, 2 * ratio, 0, ratio);
  append(rows.a, n, 2 * ratio, ratio, ratio);
  return rows;
}

}  // namespace slip
