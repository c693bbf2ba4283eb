// A new file, written from its beginning to its end or refused with the system's reason.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "base/error.h"

namespace slip {

// What it means that a file or folder cannot be created: a path that will not do
// (kInvalidArgument), or a disk without room (kOutputFailed).
//   reason  errno
ErrorCode creation_error(int reason);

class OutputFile {
 public:
  // Creates `path`, or empties the file that is there. Errors call it `shown`.
  //   mode  of a new file, before the process's mask
  // Throws Error{creation_error()}.
  OutputFile(const std::filesystem::path& path, std::string shown, mode_t mode = 0666);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // Throw Error{kOutputFailed}: the disk is full, the user's quota is.
  void write(std::span<const std::byte> bytes);
  void sync();   // returns when the bytes are on the disk
  void close();  // after the last byte: some file systems find out only now

 private:
  std::string shown_;
  int descriptor_;
};

// A whole file. Throws as OutputFile does.
void write_text_file(const std::filesystem::path& path, const std::string& shown,
                     std::string_view text);

// The same, but `path` keeps what it has until all of the text is on the disk beside it, and where
// anything fails. A symbolic link stays one: what it leads to is replaced; so do the permissions of
// a file that was there. Throws as OutputFile does, and Error{kInvalidArgument} for what is there
// and no file: a folder, a device.
void replace_text_file(const std::filesystem::path& path, const std::string& shown,
                       std::string_view text);

// Throws what replace_text_file() would throw now, as far as can be told without writing. Changes
// nothing.
void check_replaceable(const std::filesystem::path& path, const std::string& shown);

}  // namespace slip
