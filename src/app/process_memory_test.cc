#include "app/process_memory.h"

#include <cstring>

#include <gtest/gtest.h>

#include "tensor/buffer.h"

namespace slip {
namespace {

constexpr size_t kBytes = size_t{64} << 20;
constexpr auto kMost = static_cast<int64_t>(kBytes * 9 / 10);

void touch(const ByteBuffer& buffer) { std::memset(buffer.data(), 1, buffer.n_bytes()); }

TEST(ProcessMemory, CountsWhatIsTouchedAsResident) {
  const ByteBuffer buffer(kBytes);
  const int64_t before = resident_bytes();
  touch(buffer);
  EXPECT_GT(resident_bytes() - before, kMost);
}

TEST(ProcessMemory, RemembersThePeakUntilItIsReset) {
  reset_peak_resident();
  const int64_t before = resident_bytes();
  touch(ByteBuffer(kBytes));
  EXPECT_GT(peak_resident_bytes() - before, kMost);
  reset_peak_resident();
  EXPECT_LT(peak_resident_bytes() - before, kMost);
}

TEST(ProcessMemory, HasSomeLeft) { EXPECT_GT(available_memory_bytes(), int64_t{1} << 20); }

}  // namespace
}  // namespace slip
