#include "backend/cuda/device_weights.h"

#include <vector>

#include <gtest/gtest.h>

#include "backend/cuda/kernel_fixture.h"

namespace slip::cuda {
namespace {

class DeviceWeightsTest : public KernelTest {};

// The second one is larger than a chunk of the arena; the third goes on in the first one's.
TEST_F(DeviceWeightsTest, VectorsOfAnySizeLieApart) {
  DeviceWeights weights(stream());
  std::vector<VectorRef> refs;
  const size_t sizes[] = {3, (size_t{17} << 20) / sizeof(float), 5, 64};
  for (size_t i = 0; i < std::size(sizes); ++i)
    refs.push_back(weights.add(std::vector<float>(sizes[i], static_cast<float>(i))));
  for (size_t i = 0; i < std::size(sizes); ++i) {
    std::vector<float> found(sizes[i]);
    stream().to_host(found.data(), weights.vector(refs[i]), sizes[i] * sizeof(float));
    stream().wait();
    EXPECT_EQ(found, std::vector<float>(sizes[i], static_cast<float>(i))) << "vector " << i;
  }
}

}  // namespace
}  // namespace slip::cuda
