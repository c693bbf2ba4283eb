// A new file, written from its beginning to its end or refused with the system's reason.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"

namespace slip {

// What it means that a file or folder cannot be created: a path that will not do
// (kInvalidArgument), or a disk without room (kOutputFailed).
//   reason  errno
ErrorCode creation_error(int reason);

class OutputFile {
 public:
  // Creates `path`, or empties the file that is there. Errors call it `shown`.
  // Throws Error{creation_error()}.
  OutputFile(const std::filesystem::path& path, std::string shown);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // Throw Error{kOutputFailed}: the disk is full, the user's quota is.
  void write(std::span<const std::byte> bytes);
  void close();  // after the last byte: some file systems find out only now

 private:
  std::string shown_;
  int descriptor_;
};

// A whole file. Throws as OutputFile does.
void write_text_file(const std::filesystem::path& path, const std::string& shown,
                     std::string_view text);

}  // namespace slip
