#include "backend/cpu/bench_setup.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "backend/cpu/ops_storage.h"
#include "base/cpu_features.h"
#include "base/error.h"
#include "base/rng.h"

namespace slip::cpu {

int64_t n_rotated(int64_t n_bytes, int64_t most) {
  constexpr int64_t kRotatedBytes = int64_t{1} << 30;  // larger than last-level caches
  return std::clamp<int64_t>(kRotatedBytes / std::max<int64_t>(n_bytes, 1), 2, most);
}

void fill_normal(std::span<float> values, uint64_t seed, float deviation) {
  constexpr size_t kDrawn = 4096;
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = i < kDrawn ? deviation * normal(seed, i, Draw::kTest) : values[i - kDrawn];
}

void fill_cache(const KvLayout& kv, std::span<std::byte* const> blocks) {
  std::vector<std::byte> plane(kv.plane_bytes());
  const size_t n = plane.size() / element_bytes(kv.format.type);
  for (size_t i = 0; i < n; ++i)
    store_float(kv.format.type, plane.data(), i, normal(1, i, Draw::kTest));
  for (std::byte* block : blocks) {
    for (size_t at = 0; at < kv.block_bytes(); at += plane.size())
      std::ranges::copy(plane, block + at);
  }
}

namespace {

const KernelTable& choose_table(const std::string& name) {
  if (name != "reference") return choose(cpu_features(), name);
  throw Error(ErrorCode::kInvalidArgument,
              "kernels: found \"reference\", wanted a table of kernels: definitions take minutes");
}

}  // namespace

BenchThreads::BenchThreads(const BenchDevice& device)
    : pool(device.n_threads > 0 ? device.n_threads : usable_cores()),
      table(choose_table(device.kernels)) {}

std::string BenchThreads::name() const { return device_name(table.name, pool.n_threads()); }

double BenchThreads::measure_flops() {
  using Clock = std::chrono::steady_clock;
  std::vector<double> rates(static_cast<size_t>(pool.n_threads()));
  pool.run(pool.n_threads(), [&](int item, int) {
    const Clock::time_point start = Clock::now();
    const double flops = table.exercise();
    rates[static_cast<size_t>(item)] =
        flops / std::chrono::duration<double>(Clock::now() - start).count();
  });
  return *std::ranges::min_element(rates) * pool.n_threads();
}

}  // namespace slip::cpu
