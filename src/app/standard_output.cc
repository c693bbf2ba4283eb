#include "app/standard_output.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <iterator>

#include <fcntl.h>
#include <unistd.h>

#include "app/environment.h"
#include "base/error.h"

namespace slip {

void flush_stdout() {
  errno = 0;
  std::cout.flush();
  const bool is_flushed = std::fflush(stdout) == 0;
  if (is_flushed && std::ferror(stdout) == 0 && std::cout.good()) return;
  const char* reason = errno != 0 ? std::strerror(errno) : "an earlier write failed";
  throw Error(ErrorCode::kOutputFailed, std::string("stdout: cannot be written: ") + reason);
}

void open_standard_streams() {
  constexpr int kModes[] = {O_RDONLY, O_RDONLY, O_WRONLY};  // of stdin, stdout, stderr
  for (const int mode : kModes) {
    const int descriptor = open("/dev/null", mode);  // the lowest number that is free
    if (descriptor < 0 || descriptor > STDERR_FILENO) {
      if (descriptor >= 0) close(descriptor);
      return;
    }
  }
}

bool shows_sequences(int descriptor) {
  return isatty(descriptor) != 0 && read_environment().term != "dumb";
}

std::string one_line(std::string_view text) {
  constexpr size_t kBytesMax = 600;
  constexpr char kHex[] = "0123456789abcdef";
  std::string line;
  for (const char c : text.substr(0, kBytesMax)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f) {
      line += c;
    } else {
      line += {'\\', 'x', kHex[byte / 16], kHex[byte % 16]};
    }
  }
  return text.size() > kBytesMax ? line + "..." : line;
}

std::string format_bytes(int64_t n_bytes) {
  constexpr const char* kUnits[] = {"bytes", "kB", "MB", "GB", "TB"};
  auto value = static_cast<double>(n_bytes);
  size_t unit = 0;
  while (value >= 1000 && unit + 1 < std::size(kUnits)) {
    value /= 1000;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof(text), unit == 0 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
  return text;
}

}  // namespace slip
