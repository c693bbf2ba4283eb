// Opening what must be an ordinary file: a pipe, device or folder in its place is an error, never a
// wait.
#pragma once

#include <cstddef>
#include <filesystem>

namespace slip {

class RegularFile {
 public:
  // Throws Error{kNotFound} (not there, not readable) or Error{kCorruptFile} (not a regular file)
  // with the path.
  explicit RegularFile(const std::filesystem::path& path);
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
