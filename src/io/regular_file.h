// Opening what must be an ordinary file: a pipe, device or folder in its place is an error, never a
// wait.
#pragma once

#include <cstddef>
#include <filesystem>

#include "base/error.h"

namespace slip {

class RegularFile {
 public:
  // Throws Error{kNotFound} (not there, a link to nothing, not readable) with the path, and what
  // is there but no regular file with the path and the code given: it is a fault of the model or,
  // where a user named it, a wrong argument.
  explicit RegularFile(const std::filesystem::path& path,
                       ErrorCode if_it_is_none = ErrorCode::kCorruptFile);
  ~RegularFile();
  RegularFile(const RegularFile&) = delete;
  RegularFile& operator=(const RegularFile&) = delete;

  int descriptor() const { return descriptor_; }
  size_t n_bytes() const { return n_bytes_; }  // when it was opened

 private:
  int descriptor_;
  size_t n_bytes_ = 0;
};

}  // namespace slip
