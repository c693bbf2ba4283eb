#include "io/regular_file.h"

#include <cerrno>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

namespace slip {

RegularFile::RegularFile(const std::filesystem::path& path)
    // Without O_NONBLOCK opening a pipe waits for a writer.
    : descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (descriptor_ < 0) {
    throw Error(ErrorCode::kNotFound,
                path.string() + ": cannot be opened: " + std::generic_category().message(errno));
  }
  struct stat status = {};
  if (fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(descriptor_);
    throw Error(ErrorCode::kCorruptFile, path.string() + ": not a regular file");
  }
  n_bytes_ = static_cast<size_t>(status.st_size);
}

RegularFile::~RegularFile() { close(descriptor_); }

}  // namespace slip
