// What the benches share: threads with the kernels of one table, how many buffers to go round, and
// what to fill them with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "backend/cpu/kernel_bench.h"
#include "backend/cpu/kernels/table.h"
#include "backend/cpu/kv_layout.h"
#include "base/thread_pool.h"

namespace slip::cpu {

// Buffers of that size, together larger than last-level caches; at most `most` of something small.
int64_t n_rotated(int64_t n_bytes, int64_t most = 64);

// Normal numbers. Independent elements look the same in every order, so some are drawn and
// repeated.
void fill_normal(std::span<float> values, uint64_t seed, float deviation);

// Normal numbers of deviation 1 in every plane of the cache blocks, all planes the same.
void fill_cache(const KvLayout& kv, std::span<std::byte* const> blocks);

// Threads with the kernels of one table.
struct BenchThreads {
  explicit BenchThreads(const BenchDevice& device);

  std::string name() const;

  // Of the matrix unit, a second. All threads at once, the slowest counts: the unit may be fast on
  // one core and slow on another.
  double measure_flops();

  ThreadPool pool;
  const KernelTable& table;
};

}  // namespace slip::cpu
