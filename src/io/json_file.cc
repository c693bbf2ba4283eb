#include "io/json_file.h"

#include <cerrno>

#include <unistd.h>

#include "io/regular_file.h"

namespace slip {

std::string read_text_file(const std::filesystem::path& path, ErrorCode if_unfit) {
  const RegularFile file(path, if_unfit);
  if (file.n_bytes() > kJsonFileBytesMax) {
    throw Error(if_unfit, path.string() + ": " + std::to_string(file.n_bytes()) +
                              " bytes, wanted at most " + std::to_string(kJsonFileBytesMax));
  }
  std::string text(file.n_bytes(), '\0');
  size_t n_read = 0;
  while (n_read < text.size()) {
    const ssize_t n = read(file.descriptor(), text.data() + n_read, text.size() - n_read);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) refuse_file(path.string(), "ended early while it was read");
    n_read += static_cast<size_t>(n);
  }
  return text;
}

}  // namespace slip
