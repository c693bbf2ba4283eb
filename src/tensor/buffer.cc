#include "tensor/buffer.h"

#include <cstdint>
#include <limits>
#include <string>

#include <sys/mman.h>
#include <unistd.h>

#include "base/check.h"
#include "base/error.h"

namespace slip {

namespace {

constexpr size_t kHugePageBytes = size_t{2} << 20;

void* map(size_t n_bytes) {
  return mmap(nullptr, n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

// Begins on a huge page and asks for huge pages: a kernel that walks through a cache of gigabytes
// would otherwise wait for an address every 4 KiB.
void* map_huge(size_t n_bytes) {
  void* const pages = map(n_bytes + kHugePageBytes);
  if (pages == MAP_FAILED) return pages;
  auto* const begin = static_cast<std::byte*>(pages);
  const auto address = reinterpret_cast<uintptr_t>(pages);
  const size_t before = (kHugePageBytes - address % kHugePageBytes) % kHugePageBytes;
  const size_t page_bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t kept = (n_bytes + page_bytes - 1) / page_bytes * page_bytes;
  if (before > 0) unmap_pages(begin, before);
  if (before + kept < n_bytes + kHugePageBytes)
    unmap_pages(begin + before + kept, n_bytes + kHugePageBytes - before - kept);
  madvise(begin + before, n_bytes, MADV_HUGEPAGE);  // a wish: systems without them refuse
  return begin + before;
}

}  // namespace

void* map_pages(size_t n_elements, size_t element_bytes) {
  const bool fits =
      n_elements <= (std::numeric_limits<size_t>::max() - kHugePageBytes) / element_bytes;
  const size_t n_bytes = n_elements * element_bytes;
  void* const pages = !fits                          ? MAP_FAILED
                      : n_bytes < 2 * kHugePageBytes ? map(n_bytes)
                                                     : map_huge(n_bytes);
  if (pages == MAP_FAILED) {
    throw Error(ErrorCode::kInsufficientMemory, "the system refused a buffer of " +
                                                    std::to_string(n_elements) + " elements of " +
                                                    std::to_string(element_bytes) + " bytes");
  }
  return pages;
}

void unmap_pages(void* pages, size_t n_bytes) { SLIP_CHECK(munmap(pages, n_bytes) == 0); }

}  // namespace slip
