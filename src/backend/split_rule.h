// How attention divides the KV range. The border is a pure function of the row's own position, so a
// row gets the same partial sums whoever shares its step; partials are merged in ascending order.
#pragma once

#include <cstdint>

namespace slip {

inline constexpr int32_t kCacheBlockTokens = 64;

// Tokens in each split for a row at `position`: 64 * ceil((position + 1) / (64 * n_splits)).
//   n_splits  splits that a long range is cut into, fixed per device and model
int32_t split_tokens(int32_t position, int32_t n_splits);

// Rows, counted from the one at `position`, that share its split length. A segment never holds
// more.
int32_t rows_until_split_change(int32_t position, int32_t n_splits);

}  // namespace slip
