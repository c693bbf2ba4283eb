#include "app/line_reader.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <unistd.h>

#include "app/interrupt.h"
#include "base/error.h"

namespace slip {

std::optional<std::string> LineReader::next() {
  size_t n_searched = 0;
  while (true) {
    const size_t end = held_.find('\n', n_searched);
    if (end != std::string::npos) {
      std::string line = held_.substr(0, end);
      held_.erase(0, end + 1);
      return line;
    }
    n_searched = held_.size();
    if (n_searched > kLineBytesMax) {
      throw Error(ErrorCode::kInvalidArgument, "stdin: found a line of more than " +
                                                   std::to_string(kLineBytesMax) +
                                                   " bytes, wanted at most that");
    }
    if (is_at_end_) {
      if (held_.empty()) return std::nullopt;
      return std::exchange(held_, {});
    }
    if (!fill()) return std::nullopt;
  }
}

// False when a signal came first.
bool LineReader::fill() {
  char part[1 << 12];
  if (!wait_for_input(descriptor_)) return false;
  const ssize_t n = read(descriptor_, part, sizeof part);
  if (n < 0) {
    throw Error(ErrorCode::kInvalidArgument,
                std::string("stdin: cannot be read: ") + std::strerror(errno));
  }
  is_at_end_ = n == 0;
  held_.append(part, static_cast<size_t>(n));
  return true;
}

}  // namespace slip
