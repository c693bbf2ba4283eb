#include "app/read_ceiling.h"

#include <array>
#include <chrono>

namespace slip {

namespace {

constexpr size_t kBufferFloats = size_t{256} << 20;  // 1 GiB
constexpr int kItems = 1024;                         // 1 MiB each
constexpr size_t kItemFloats = kBufferFloats / kItems;

using Vector = float __attribute__((vector_size(32)));

float sum_item(const float* values) {
  std::array<Vector, 4> sums{};  // enough chains to hide the latency of an addition
  const auto* vectors = reinterpret_cast<const Vector*>(values);
  for (size_t i = 0; i < kItemFloats / 8; i += sums.size()) {
    for (size_t j = 0; j < sums.size(); ++j) sums[j] += vectors[i + j];
  }
  const Vector total = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  return total[0] + total[1] + total[2] + total[3] + total[4] + total[5] + total[6] + total[7];
}

}  // namespace

ReadCeiling::ReadCeiling(int n_threads)
    : pool_(n_threads > 0 ? n_threads : usable_cores()), buffer_(kBufferFloats) {
  // Untouched pages would all be the one page of zeros.
  for (size_t i = 0; i < buffer_.size(); ++i) buffer_.data()[i] = static_cast<float>(i % 7);
}

double ReadCeiling::measure() {
  std::array<float, kItems> sums{};
  const auto start = std::chrono::steady_clock::now();
  pool_.run(kItems, [&](int item, int) {
    sums[static_cast<size_t>(item)] =
        sum_item(buffer_.data() + static_cast<size_t>(item) * kItemFloats);
  });
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  for (const float sum : sums) sink_ += sum;
  return static_cast<double>(buffer_.n_bytes()) / elapsed.count() / 1e9;
}

}  // namespace slip
