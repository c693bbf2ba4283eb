#include "tensor/buffer.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"

namespace slip {
namespace {

TEST(FloatBuffer, IsZeroAndAligned) {
  const FloatBuffer buffer(1001);
  EXPECT_EQ(buffer.size(), 1001u);
  EXPECT_EQ(buffer.n_bytes(), 4004u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % kBufferAlignment, 0u);
  EXPECT_TRUE(std::ranges::all_of(buffer.span(), [](float x) { return x == 0.0f; }));
}

TEST(FloatBuffer, HoldsNothingByDefault) {
  EXPECT_EQ(FloatBuffer().data(), nullptr);
  EXPECT_EQ(FloatBuffer(0).span().size(), 0u);
}

TEST(FloatBuffer, LeavesNothingBehindWhenMoved) {
  FloatBuffer from(10);
  from.data()[9] = 7.0f;
  const FloatBuffer to = std::move(from);
  EXPECT_EQ(to.size(), 10u);
  EXPECT_EQ(to.data()[9], 7.0f);
  EXPECT_EQ(from.size(), 0u);  // NOLINT(bugprone-use-after-move)
}

TEST(FloatBuffer, CostsOnlyThePagesThatAreWritten) {
  const auto page_bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t n_pages = 4096;
  const FloatBuffer buffer(n_pages * page_bytes / sizeof(float));
  buffer.data()[0] = 1.0f;
  std::vector<unsigned char> is_resident(n_pages);
  ASSERT_EQ(mincore(buffer.data(), buffer.n_bytes(), is_resident.data()), 0);
  // Up to 512: the kernel may have taken one 2 MiB page.
  EXPECT_LE(std::ranges::count_if(is_resident, [](unsigned char bits) { return bits & 1; }), 512);
}

TEST(FloatBuffer, NamesTheSizeThatTheSystemRefused) {
  for (const size_t n : {size_t{1} << 60, std::numeric_limits<size_t>::max() / 4 + 2}) {
    try {
      const FloatBuffer buffer(n);
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInsufficientMemory);
      EXPECT_NE(std::string(error.what()).find(std::to_string(n)), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace slip
