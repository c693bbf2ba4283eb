// Tables with one row for each value of an enumeration, in its order: a value is its own row
// number.
#pragma once

#include <cstddef>

namespace slip {

// Whether row i of `rows` has the i-th value in its field `key`. For static_assert beside the
// table.
template <class Rows, class Key>
constexpr bool is_in_order(const Rows& rows, Key key) {
  for (size_t i = 0; i < rows.size(); ++i) {
    if (static_cast<size_t>(rows[i].*key) != i) return false;
  }
  return true;
}

}  // namespace slip
