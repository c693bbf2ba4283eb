// What tests of kernels share: the device, memory that starts as NaN, random numbers.
#pragma once

#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backend/cuda/device/device.h"
#include "base/error.h"
#include "base/rng.h"

namespace slip::cuda {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

constexpr size_t at(int64_t i) { return static_cast<size_t>(i); }

// Standard normal times `scale`.
inline std::vector<float> random(int64_t n, uint64_t seed, float scale = 1.0f) {
  std::vector<float> values(at(n));
  for (size_t i = 0; i < values.size(); ++i) values[i] = scale * normal(seed, i, Draw::kTest);
  return values;
}

// Every element within `tolerance` of itself and of the root mean square; NaN exactly where wanted.
inline void expect_close(std::span<const float> found, std::span<const float> wanted,
                         double tolerance, const std::string& what) {
  ASSERT_EQ(found.size(), wanted.size());
  double sum = 0, n = 0;
  for (const float w : wanted) {
    if (!std::isfinite(w)) continue;
    sum += double{w} * double{w};
    ++n;
  }
  const double typical = std::sqrt(sum / std::max(n, 1.0));
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (std::isnan(wanted[i]) && std::isnan(found[i])) continue;
    const double error = std::abs(double{found[i]} - double{wanted[i]});
    ASSERT_LE(error, tolerance * (typical + std::abs(double{wanted[i]})))
        << what << ": element " << i << " is " << found[i] << ", wanted " << wanted[i];
  }
}

inline bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

class KernelTest : public testing::Test {
 protected:
  void SetUp() override {
    try {
      use_device(0);
      stream_ = std::make_unique<Stream>();
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }

  Stream& stream() { return *stream_; }

  template <class T>
  DeviceMemory<T> upload(const std::vector<T>& values) {
    DeviceMemory<T> memory(values.size());
    stream().to_device(memory.data(), values.data(), memory.n_bytes());
    stream().wait();
    return memory;
  }
  template <class T>
  DeviceMemory<T> poisoned(int64_t n) {
    DeviceMemory<T> memory(at(n));
    stream().fill(memory.data(), std::byte{0xFF}, memory.n_bytes());
    return memory;
  }
  template <class T>
  std::vector<T> download(const DeviceMemory<T>& memory) {
    std::vector<T> values(memory.size());
    stream().to_host(values.data(), memory.data(), memory.n_bytes());
    stream().wait();
    return values;
  }

 private:
  std::unique_ptr<Stream> stream_;
};

}  // namespace slip::cuda
