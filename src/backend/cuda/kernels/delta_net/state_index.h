// Where an element of the recurrent state lies. A column of values is shared by four neighbouring
// lanes, a warp has eight columns, and a lane reads 16 bytes at a time, beside its neighbours.
#pragma once

#include <cstdint>

namespace slip::cuda {

inline constexpr int32_t kStripColumns = 8;  // of a warp
inline constexpr int32_t kKeysAtOnce = 16;   // four lanes, four keys each

// Of a head: [value_dim / 8, keys / 16, 8 columns, 16 keys], keys padded with zeros to a multiple
// of 16.
constexpr int64_t head_floats(int32_t key_dim, int32_t value_dim) {
  return int64_t{value_dim} * ((key_dim + kKeysAtOnce - 1) / kKeysAtOnce * kKeysAtOnce);
}
constexpr int64_t state_index(int32_t key_dim, int32_t key, int32_t column) {
  const int32_t n_steps = (key_dim + kKeysAtOnce - 1) / kKeysAtOnce;
  const int64_t step = int64_t{column / kStripColumns} * n_steps + key / kKeysAtOnce;
  return (step * kStripColumns + column % kStripColumns) * kKeysAtOnce + key % kKeysAtOnce;
}

}  // namespace slip::cuda
