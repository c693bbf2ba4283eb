#include "base/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <sched.h>

#include "base/check.h"
#include "base/error.h"

namespace slip {
namespace {

// Longer than the gap between two regions of one step (about 15 us), far shorter than a scheduler's
// time slice.
constexpr std::chrono::microseconds kSpinTime{50};
constexpr int kPausesPerClockRead = 32;
constexpr size_t kCacheLineBytes = 64;

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

// Waits until is_true() or for `limit`, whichever is first.
template <class Condition>
void spin(std::chrono::microseconds limit, Condition is_true) {
  if (limit.count() == 0) return;
  const auto end = std::chrono::steady_clock::now() + limit;
  do {
    for (int i = 0; i < kPausesPerClockRead; ++i) {
      if (is_true()) return;
      pause_briefly();
    }
  } while (std::chrono::steady_clock::now() < end);
}

}  // namespace

// The job's fields are plain: the caller writes them while no item is outstanding, and a thread
// reads them only between claiming an item and reporting it done, which the caller waits for. A
// thread that comes late finds no item to claim, or claims one of the job that is current then; so
// nobody waits for a thread that holds no item.
struct ThreadPool::Shared {
  explicit Shared(int n_threads_wanted);
  ~Shared();

  void work_until_stopped(int thread);
  void claim_and_run(int thread);

  int n_threads;
  std::chrono::microseconds spin_time;

  int n_items = 0;
  void* body = nullptr;
  Call call = nullptr;

  // Items not claimed yet; below zero when threads asked in vain.
  alignas(kCacheLineBytes) std::atomic<int> n_unclaimed = 0;
  // Items claimed or not, but not reported done.
  alignas(kCacheLineBytes) std::atomic<int> n_unfinished = 0;
  // Counts jobs; workers sleep on it.
  alignas(kCacheLineBytes) std::atomic<uint32_t> n_jobs = 0;
  std::atomic<bool> is_stopping = false;

  std::vector<std::thread> workers;
};

ThreadPool::Shared::Shared(int n_threads_wanted)
    : n_threads(n_threads_wanted),
      // With more threads than processors a spinning thread keeps a working one from running.
      spin_time(static_cast<unsigned>(n_threads_wanted) <= std::thread::hardware_concurrency()
                    ? kSpinTime
                    : std::chrono::microseconds{0}) {}

ThreadPool::Shared::~Shared() {
  is_stopping.store(true, std::memory_order_relaxed);
  n_jobs.fetch_add(1, std::memory_order_release);
  n_jobs.notify_all();
  for (std::thread& worker : workers) worker.join();
}

void ThreadPool::Shared::work_until_stopped(int thread) {
  for (;;) {
    const uint32_t n_jobs_seen = n_jobs.load(std::memory_order_acquire);
    if (is_stopping.load(std::memory_order_relaxed)) return;
    claim_and_run(thread);
    const auto has_news = [&] { return n_jobs.load(std::memory_order_relaxed) != n_jobs_seen; };
    spin(spin_time, has_news);
    n_jobs.wait(n_jobs_seen, std::memory_order_relaxed);
  }
}

void ThreadPool::Shared::claim_and_run(int thread) {
  int n_done = 0;
  for (;;) {
    const int n_left = n_unclaimed.fetch_sub(1, std::memory_order_acquire);
    if (n_left <= 0) break;
    call(body, n_items - n_left, thread);
    ++n_done;
  }
  if (n_done == 0) return;
  if (n_unfinished.fetch_sub(n_done, std::memory_order_release) == n_done) {
    n_unfinished.notify_one();
  }
}

ThreadPool::ThreadPool(int n_threads) {
  SLIP_CHECK(n_threads >= 1 && n_threads <= kThreadsMax);
  shared_ = std::make_unique<Shared>(n_threads);
  shared_->workers.reserve(static_cast<size_t>(n_threads - 1));
  for (int thread = 1; thread < n_threads; ++thread) {
    try {
      shared_->workers.emplace_back(&Shared::work_until_stopped, shared_.get(), thread);
    } catch (const std::system_error& error) {
      throw Error(ErrorCode::kInsufficientMemory,
                  "thread pool: the system gave " + std::to_string(thread) + " threads, wanted " +
                      std::to_string(n_threads) + ": " + error.what());
    }
  }
}

ThreadPool::~ThreadPool() = default;

int ThreadPool::n_threads() const { return shared_->n_threads; }

void ThreadPool::run_erased(int n_items, void* body, Call call) {
  Shared& shared = *shared_;
  if (n_items <= 1 || shared.n_threads == 1) {
    for (int item = 0; item < n_items; ++item) call(body, item, 0);
    return;
  }
  SLIP_CHECK(shared.n_unfinished.load(std::memory_order_relaxed) == 0);  // no run() inside run()

  shared.n_items = n_items;
  shared.body = body;
  shared.call = call;
  shared.n_unfinished.store(n_items, std::memory_order_relaxed);
  shared.n_unclaimed.store(n_items, std::memory_order_release);
  shared.n_jobs.fetch_add(1, std::memory_order_release);
  shared.n_jobs.notify_all();

  shared.claim_and_run(0);

  const auto is_finished = [&] { return shared.n_unfinished.load(std::memory_order_acquire) == 0; };
  spin(shared.spin_time, is_finished);
  while (!is_finished()) {
    const int n_unfinished = shared.n_unfinished.load(std::memory_order_relaxed);
    if (n_unfinished != 0) shared.n_unfinished.wait(n_unfinished, std::memory_order_relaxed);
  }
}

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return std::clamp(CPU_COUNT(&set), 1, ThreadPool::kThreadsMax);
}

}  // namespace slip
