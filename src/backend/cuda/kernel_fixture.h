// What tests of kernels share: the device, memory that starts as NaN, random numbers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backend/cuda/device/device.h"
#include "base/error.h"
#include "base/testing/floats.h"

namespace slip::cuda {

using test::expect_close;
using test::kNan;
using test::same_bits;

constexpr size_t at(int64_t i) { return static_cast<size_t>(i); }

// Standard normal times `scale`.
inline std::vector<float> random(int64_t n, uint64_t seed, float scale = 1.0f) {
  return test::random_floats(at(n), seed, scale);
}

// Empty where there is one.
inline std::string why_no_device() {
  try {
    use_device(0);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

class KernelTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = why_no_device(); !why.empty()) GTEST_SKIP() << why;
    stream_ = std::make_unique<Stream>();
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
