// Small data of every step on its way to the device: the host writes it while earlier copies are
// still under way.
#pragma once

#include <array>
#include <cstring>
#include <span>

#include "backend/cuda/device/device.h"
#include "base/check.h"

namespace slip::cuda {

class StagedUpload {
 public:
  StagedUpload(Stream& stream, size_t n_bytes)
      : stream_(stream), n_bytes_(n_bytes), pinned_(kSlots * n_bytes), device_(n_bytes) {}

  std::byte* device() const { return device_.data(); }
  int64_t n_bytes() const { return static_cast<int64_t>(device_.n_bytes()); }

  // The bytes of the next upload, undefined at first. Waits where too many are under way.
  std::byte* begin() {
    if (slot_ == kSlots) {
      stream_.wait();
      slot_ = 0;
    }
    return pinned_.data() + slot_ * n_bytes_;
  }
  // Sends the first `n_bytes` of what begin() gave. Kernels given later see them.
  void send(size_t n_bytes) {
    SLIP_CHECK(slot_ < kSlots && n_bytes <= n_bytes_);
    stream_.to_device(device_.data(), pinned_.data() + slot_ * n_bytes_, n_bytes);
    ++slot_;
  }

 private:
  static constexpr size_t kSlots = 8;

  Stream& stream_;
  size_t n_bytes_, slot_ = 0;
  PinnedMemory<std::byte> pinned_;
  DeviceMemory<std::byte> device_;
};

}  // namespace slip::cuda
