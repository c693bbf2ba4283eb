#include "app/input_text.h"

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "base/error.h"
#include "io/json_file.h"

namespace slip {

namespace {

constexpr const char* kStandardInput = "-";

[[noreturn]] void refuse(const std::string& reason) {
  throw Error(ErrorCode::kInvalidArgument, input_name(kStandardInput) + ": " + reason);
}

std::string read_standard_input() {
  std::string text;
  char part[1 << 16];
  errno = 0;
  while (const size_t n = std::fread(part, 1, sizeof part, stdin)) {
    text.append(part, n);
    if (text.size() > kJsonFileBytesMax) {
      refuse("found more than " + std::to_string(kJsonFileBytesMax) +
             " bytes, wanted at most that");
    }
  }
  if (std::ferror(stdin) != 0) refuse("cannot be read: " + std::generic_category().message(errno));
  return text;
}

}  // namespace

std::string read_input_text(const std::string& path) {
  return path == kStandardInput ? read_standard_input()
                                : read_text_file(path, ErrorCode::kInvalidArgument);
}

std::string input_name(const std::string& path) {
  return path == kStandardInput ? "the standard input" : path;
}

}  // namespace slip
