#include "io/regular_file.h"

#include <cerrno>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"

namespace slip {

namespace {

// Of a link that leads nowhere the system says only that there is no such file.
std::string explain(const std::filesystem::path& path, int reason) {
  std::error_code error;
  const std::filesystem::path target = std::filesystem::read_symlink(path, error);
  if (reason != ENOENT || error) return std::generic_category().message(reason);
  return "a link to " + quote(target.string()) + ", which is not there";
}

}  // namespace

RegularFile::RegularFile(const std::filesystem::path& path, ErrorCode if_it_is_none)
    // Without O_NONBLOCK opening a pipe waits for a writer.
    : descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  const int reason = errno;
  if (descriptor_ < 0) {
    throw Error(ErrorCode::kNotFound,
                path.string() + ": cannot be opened: " + explain(path, reason));
  }
  struct stat status = {};
  if (fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(descriptor_);
    throw Error(if_it_is_none, path.string() + ": not a regular file");
  }
  n_bytes_ = static_cast<size_t>(status.st_size);
}

RegularFile::~RegularFile() { close(descriptor_); }

}  // namespace slip
