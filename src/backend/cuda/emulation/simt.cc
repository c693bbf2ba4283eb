#include "backend/cuda/emulation/simt.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include <boost/context/fiber.hpp>
#include <boost/context/fixedsize_stack.hpp>

#include "base/check.h"

namespace slip::cuda::emulation {
namespace {

using boost::context::fiber;

constexpr size_t kStackBytes = 128 << 10;
constexpr size_t kLaneBytesMax = 64;

enum class Wait : uint8_t { kNone, kBlock, kWarp, kDone };

struct Thread {
  fiber context;
  dim3 index;
  Wait wait = Wait::kNone;
  unsigned mask = 0;       // of the exchange that it waits for
  size_t n_exchanges = 0;  // so far; every other one uses the same bytes
  alignas(16) std::array<std::array<std::byte, kLaneBytesMax>, 2> brought{};
};

// Threads are kept from block to block; their stacks are new.
class Block {
 public:
  void run(dim3 threads, size_t shared_bytes, const std::function<void()>& body);

  std::byte* shared() { return shared_.data(); }
  Thread& current() { return *threads_[current_]; }
  void yield(Wait wait);
  const std::byte* const* lanes(size_t parity);
  int votes_of(int mine);

 private:
  bool step();  // threads of some warps that can run, once; false where none can
  uint32_t next_random();
  void release();
  bool is_warp_complete(size_t first, unsigned mask) const;

  std::vector<std::unique_ptr<Thread>> threads_;
  std::vector<size_t> order_;
  std::vector<std::byte> shared_;
  size_t n_threads_ = 0, current_ = 0;
  fiber scheduler_;
  std::array<const std::byte*, 32> lanes_{};
  uint32_t shuffle_ = 1;
  int votes_ = 0, next_votes_ = 0;
};

Block& block() {
  static Block the_block;
  return the_block;
}

void Block::run(dim3 threads, size_t shared_bytes, const std::function<void()>& body) {
  shared_.assign(shared_bytes + 128, std::byte{0xFF});
  n_threads_ = size_t{threads.x} * threads.y * threads.z;
  while (threads_.size() < n_threads_) threads_.push_back(std::make_unique<Thread>());
  order_.resize(n_threads_);
  for (size_t i = 0; i < n_threads_; ++i) {
    order_[i] = i;
    Thread& t = *threads_[i];
    const auto at = static_cast<unsigned>(i);
    t.index = {at % threads.x, at / threads.x % threads.y, at / threads.x / threads.y};
    t.wait = Wait::kNone;
    t.n_exchanges = 0;
    t.context = fiber(std::allocator_arg, boost::context::fixedsize_stack(kStackBytes),
                      [this, &body](fiber&& scheduler) {
                        scheduler_ = std::move(scheduler);
                        body();
                        current().wait = Wait::kDone;
                        return std::move(scheduler_);
                      });
  }
  const auto is_done = [&](size_t i) { return threads_[i]->wait == Wait::kDone; };
  while (!std::all_of(order_.begin(), order_.end(), is_done)) {
    SLIP_CHECK(step());  // otherwise all wait for a thread that is done, or at another barrier
    release();
  }
}

uint32_t Block::next_random() {
  shuffle_ = shuffle_ * 1664525u + 1013904223u;
  return shuffle_ >> 8;
}

bool Block::step() {
  // Another order every time: rotated, and every other time backwards. Half of the warps rest, so
  // that they drift apart between barriers.
  const uint32_t random = next_random();
  const auto by = static_cast<std::ptrdiff_t>(random % order_.size());
  std::rotate(order_.begin(), order_.begin() + by, order_.end());
  if ((random >> 16 & 1u) != 0) std::reverse(order_.begin(), order_.end());
  const uint32_t resting = next_random();
  bool can_run = false;
  for (const size_t i : order_) {
    if (threads_[i]->wait != Wait::kNone) continue;
    can_run = true;
    if ((resting >> (i / 32 % 16) & 1u) != 0) continue;
    current_ = i;
    threadIdx = threads_[i]->index;
    threads_[i]->context = std::move(threads_[i]->context).resume();
  }
  return can_run;
}

// Lets those go on whose companions have all arrived.
void Block::release() {
  bool is_at_barrier = true;
  for (size_t i = 0; i < n_threads_; ++i) {
    const Wait wait = threads_[i]->wait;
    is_at_barrier = is_at_barrier && (wait == Wait::kBlock || wait == Wait::kDone);
  }
  if (is_at_barrier) {
    votes_ = std::exchange(next_votes_, 0);
    for (size_t i = 0; i < n_threads_; ++i)
      if (threads_[i]->wait == Wait::kBlock) threads_[i]->wait = Wait::kNone;
  }
  for (size_t i = 0; i < n_threads_; ++i) {
    const size_t first = i / 32 * 32;
    const unsigned mask = threads_[i]->mask;
    if (threads_[i]->wait != Wait::kWarp || !is_warp_complete(first, mask)) continue;
    for (size_t lane = 0; lane < 32; ++lane)
      if ((mask >> lane & 1u) != 0) threads_[first + lane]->wait = Wait::kNone;
  }
}

bool Block::is_warp_complete(size_t first, unsigned mask) const {
  for (size_t lane = 0; lane < 32; ++lane) {
    if ((mask >> lane & 1u) == 0) continue;
    SLIP_CHECK(first + lane < n_threads_);
    const Thread& t = *threads_[first + lane];
    if (t.wait != Wait::kWarp || t.mask != mask) return false;
  }
  return true;
}

void Block::yield(Wait wait) {
  current().wait = wait;
  scheduler_ = std::move(scheduler_).resume();
}

const std::byte* const* Block::lanes(size_t parity) {
  const size_t first = current_ / 32 * 32;
  for (size_t lane = 0; lane < 32 && first + lane < n_threads_; ++lane)
    lanes_[lane] = threads_[first + lane]->brought[parity].data();
  return lanes_.data();
}

int Block::votes_of(int mine) {
  next_votes_ |= mine;
  yield(Wait::kBlock);
  return votes_;
}

}  // namespace

void run_grid(dim3 blocks, dim3 threads, size_t shared_bytes, const std::function<void()>& body) {
  gridDim = blocks;
  blockDim = threads;
  for (unsigned z = 0; z < blocks.z; ++z) {
    for (unsigned y = 0; y < blocks.y; ++y) {
      for (unsigned x = 0; x < blocks.x; ++x) {
        blockIdx = {x, y, z};
        block().run(threads, shared_bytes, body);
      }
    }
  }
}

std::byte* dynamic_shared_bytes() {
  const auto address = reinterpret_cast<uintptr_t>(block().shared());
  return block().shared() + (128 - address % 128) % 128;
}

void wait_for_block() { block().votes_of(0); }

int block_or(int mine) { return block().votes_of(mine); }

const std::byte* const* exchange(unsigned mask, const void* mine, size_t n_bytes) {
  SLIP_CHECK(n_bytes <= kLaneBytesMax);
  Thread& t = block().current();
  const size_t parity = t.n_exchanges++ % 2;
  std::memcpy(t.brought[parity].data(), mine, n_bytes);
  t.mask = mask;
  block().yield(Wait::kWarp);
  return block().lanes(parity);
}

}  // namespace slip::cuda::emulation
