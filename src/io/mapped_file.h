// A file mapped read-only. Pages are shared with every other process that maps it.
// The file must keep its length while it is mapped: reading a page that another process cut off
// raises SIGBUS.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace slip {

class MappedFile {
 public:
  // Throws Error{kNotFound}, Error{kCorruptFile} (not a regular file) or Error{kInsufficientMemory}
  // (no address space for it) with the path. An empty file is fine.
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  std::span<const std::byte> bytes() const { return bytes_; }

  // Takes the pages out of this process's memory until they are read again. Views stay valid.
  void release_pages() const;

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace slip
