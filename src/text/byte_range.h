// A stretch of a text, by byte offsets.
#pragma once

#include <cstddef>

namespace slip {

struct ByteRange {
  size_t begin, end;  // [begin, end)

  bool operator==(const ByteRange&) const = default;
};

}  // namespace slip
