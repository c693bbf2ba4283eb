// The device layer: what it promises of memory that can be seen at several addresses.
#include <vector>

#include <gtest/gtest.h>

#include "backend/cuda/kernel_fixture.h"
#include "base/testing/expect_error.h"

namespace slip::cuda {
namespace {

class DeviceTest : public KernelTest {
 protected:
  void SetUp() override {
    KernelTest::SetUp();
    if (!IsSkipped()) granule_bytes_ = use_device(0).granule_bytes;
  }

  void write(std::byte* to, int value) {
    const std::vector<int> values{value};
    stream().to_device(to, values.data(), sizeof value);
    stream().wait();
  }
  int read(const std::byte* from) {
    int value = 0;
    stream().to_host(&value, from, sizeof value);
    stream().wait();
    return value;
  }

  int64_t granule_bytes_ = 0;
};

TEST_F(DeviceTest, ARangeGrowsWithoutMovingOrLosingWhatItHas) {
  const Granules granules(3, granule_bytes_);
  Range range(granules, 3);
  const std::byte* const begin = range.data();
  ASSERT_TRUE(range.map(2));
  write(range.data() + granule_bytes_ - 4, 11);
  ASSERT_TRUE(range.map(0));
  write(range.data() + granule_bytes_, 12);
  EXPECT_EQ(range.data(), begin);
  EXPECT_EQ(range.n_mapped(), 2);
  EXPECT_EQ(read(range.data() + granule_bytes_ - 4), 11);
  EXPECT_EQ(read(range.data() + granule_bytes_), 12);
}

TEST_F(DeviceTest, AGranuleIsTheSameInEveryRangeThatHasIt) {
  const Granules granules(2, granule_bytes_);
  Range first(granules, 2), second(granules, 2);
  ASSERT_TRUE(first.map(0));
  ASSERT_TRUE(first.map(1));
  ASSERT_TRUE(second.map(1));
  write(first.data() + granule_bytes_, 21);
  EXPECT_EQ(read(second.data()), 21);
}

TEST_F(DeviceTest, AGranuleKeepsItsContentWhileItIsMappedNowhere) {
  const Granules granules(1, granule_bytes_);
  Range first(granules, 1), second(granules, 1);
  ASSERT_TRUE(first.map(0));
  write(first.data(), 31);
  first.unmap_behind(0);
  EXPECT_EQ(first.n_mapped(), 0);
  ASSERT_TRUE(second.map(0));
  EXPECT_EQ(read(second.data()), 31);
}

TEST_F(DeviceTest, ARangeThatWasUnmappedIsMappedAgainFromItsBegin) {
  const Granules granules(2, granule_bytes_);
  Range range(granules, 2);
  ASSERT_TRUE(range.map(0));
  range.unmap_behind(0);
  ASSERT_TRUE(range.map(1));
  write(range.data(), 41);
  EXPECT_EQ(read(range.data()), 41);
}

TEST_F(DeviceTest, ARangeKeepsWhatLiesBeforeTheUnmapped) {
  const Granules granules(3, granule_bytes_);
  Range range(granules, 2);
  ASSERT_TRUE(range.map(0) && range.map(1));
  write(range.data(), 51);
  range.unmap_behind(1);
  EXPECT_EQ(range.n_mapped(), 1);
  ASSERT_TRUE(range.map(2));
  write(range.data() + granule_bytes_, 52);
  EXPECT_EQ(read(range.data()), 51);
}

TEST_F(DeviceTest, CopiesAndFillsHappenInOrder) {
  const PinnedMemory<int> host(3);
  for (int i = 0; i < 3; ++i) host.data()[i] = i + 1;
  const auto from = poisoned<int>(3), to = poisoned<int>(3);
  stream().to_device(from.data(), host.data(), host.n_bytes());
  stream().on_device(to.data(), from.data(), from.n_bytes());
  stream().fill(from.data(), std::byte{0}, from.n_bytes());
  EXPECT_EQ(download(to), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(download(from), (std::vector<int>{0, 0, 0}));
}

TEST_F(DeviceTest, MemoryBeyondTheDeviceIsRefusedAndTheNextAllocationSucceeds) {
  EXPECT_TRUE(test::fails_with(ErrorCode::kInsufficientMemory, "70368744177664 bytes",
                               [] { const DeviceMemory<std::byte> memory(size_t{1} << 46); }));
  const auto memory = upload(std::vector<int>{7});
  EXPECT_EQ(download(memory), std::vector<int>{7});
}

TEST_F(DeviceTest, GranulesBeyondTheDeviceAreRefused) {
  EXPECT_TRUE(test::fails_with(ErrorCode::kInsufficientMemory, "",
                               [&] { const Granules granules(1 << 24, granule_bytes_); }));
  const Granules next(1, granule_bytes_);
  EXPECT_EQ(next.size(), 1);
}

TEST_F(DeviceTest, AnotherNumberThanThoseOfTheGpusIsRefusedByName) {
  EXPECT_TRUE(test::fails_with(ErrorCode::kDevice, "found number 1000", [] { use_device(1000); }));
}

}  // namespace
}  // namespace slip::cuda
