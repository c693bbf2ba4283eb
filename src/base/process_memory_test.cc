#include "base/process_memory.h"

#include <cstring>

#include <gtest/gtest.h>
#include <sys/mman.h>

namespace slip {
namespace {

constexpr size_t kBytes = size_t{64} << 20;
constexpr auto kMost = static_cast<int64_t>(kBytes * 9 / 10);

// Pages of the system, which a compiler cannot do without.
struct Pages {
  void* const begin = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                           /*fd=*/-1, /*offset=*/0);
  Pages() = default;
  ~Pages() { munmap(begin, kBytes); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
};

void touch(const Pages& pages) { std::memset(pages.begin, 1, kBytes); }

TEST(ProcessMemory, CountsWhatIsTouchedAsResident) {
  const Pages pages;
  const int64_t before = resident_bytes();
  touch(pages);
  EXPECT_GT(resident_bytes() - before, kMost);
}

TEST(ProcessMemory, RemembersThePeakUntilItIsReset) {
  reset_peak_resident();
  const int64_t before = resident_bytes();
  touch(Pages());
  EXPECT_GT(peak_resident_bytes() - before, kMost);
  reset_peak_resident();
  EXPECT_LT(peak_resident_bytes() - before, kMost);
}

TEST(ProcessMemory, HasSomeLeft) { EXPECT_GT(available_memory_bytes(), int64_t{1} << 20); }

}  // namespace
}  // namespace slip
