#include "io/mapped_file.h"

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include <sys/mman.h>

#include "base/check.h"
#include "base/error.h"
#include "io/regular_file.h"

namespace slip {

MappedFile::MappedFile(const std::filesystem::path& path) {
  const RegularFile file(path);
  if (file.n_bytes() == 0) return;  // mmap refuses a length of zero
  void* const pages =
      mmap(nullptr, file.n_bytes(), PROT_READ, MAP_SHARED, file.descriptor(), /*offset=*/0);
  if (pages == MAP_FAILED) {
    const int reason = errno;
    throw Error(reason == ENOMEM ? ErrorCode::kInsufficientMemory : ErrorCode::kCorruptFile,
                path.string() + ": its " + std::to_string(file.n_bytes()) +
                    " bytes cannot be mapped: " + std::generic_category().message(reason));
  }
  bytes_ = {static_cast<const std::byte*>(pages), file.n_bytes()};
}

MappedFile::~MappedFile() {
  if (bytes_.empty()) return;
  SLIP_CHECK(munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size()) == 0);
}

void MappedFile::release_pages() const {
  if (bytes_.empty()) return;
  // The mapping is shared and read-only, so nothing is lost. A system that will not do it keeps
  // the pages, which costs memory that it can take back by itself.
  madvise(const_cast<std::byte*>(bytes_.data()), bytes_.size(), MADV_DONTNEED);
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

}  // namespace slip
