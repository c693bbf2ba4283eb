#include "app/read_ceiling.h"

#include <array>
#include <chrono>

namespace slip {

namespace {

constexpr size_t kBufferFloats = kReadCeilingBytes / sizeof(float);
constexpr int kItems = 256;
constexpr size_t kItemFloats = kBufferFloats / kItems;

using Vector = float __attribute__((vector_size(16)));  // a register of every machine
constexpr size_t kLineVectors = 64 / sizeof(Vector);
constexpr size_t kAhead = 8192 / sizeof(Vector);  // asked for before the hardware would

// Two lines at a time: enough chains to hide the latency of an addition.
float sum_item(const float* values) {
  Vector sums[2 * kLineVectors] = {};
  const auto* vectors = reinterpret_cast<const Vector*>(values);
  for (size_t i = 0; i < kItemFloats / 4; i += 2 * kLineVectors) {
    __builtin_prefetch(vectors + i + kAhead);
    __builtin_prefetch(vectors + i + kAhead + kLineVectors);
#pragma GCC unroll 8
    for (size_t j = 0; j < 2 * kLineVectors; ++j) sums[j] += vectors[i + j];
  }
  Vector total{};
  for (const Vector& sum : sums) total += sum;
  return total[0] + total[1] + total[2] + total[3];
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
