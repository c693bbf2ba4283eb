// Lines of the standard input as they are typed or piped, with an ear for Ctrl-C.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace slip {

inline constexpr size_t kLineBytesMax = size_t{16} << 20;

class LineReader {
 public:
  // `descriptor` stays open for as long as the reader lives.
  explicit LineReader(int descriptor) : descriptor_(descriptor) {}

  // The next line without its line feed; the last one may lack it. Nothing at the end of the input,
  // and when a signal came first. Throws Error{kInvalidArgument} for an input that cannot be read
  // and for a line of more than kLineBytesMax.
  std::optional<std::string> next();

 private:
  bool fill();

  int descriptor_;
  std::string held_;  // read and not yet given out
  bool is_at_end_ = false;
};

}  // namespace slip
