// The program's one thread pool. Work is a number of independent items; which thread runs an item
// never influences its result, so outputs do not depend on the number of threads.
#pragma once

#include <memory>
#include <type_traits>

namespace slip {

// Cores that this process may run on, [1, ThreadPool::kThreadsMax].
int usable_cores();

class ThreadPool {
 public:
  // Starts n_threads - 1 workers; the caller of run() is the last one.
  //   n_threads  [1, kThreadsMax]
  explicit ThreadPool(int n_threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int n_threads() const;

  // Calls body(item, thread) once for every item in [0, n_items), spread over the threads, and
  // returns when all are done. `thread` is in [0, n_threads): an index for scratch memory, never an
  // input of the result. Allocates nothing. One caller at a time; body must not throw and must not
  // call run().
  template <class Body>
  void run(int n_items, Body&& body) {
    using Plain = std::remove_reference_t<Body>;
    run_erased(
        n_items, const_cast<void*>(static_cast<const void*>(&body)),
        [](void* erased, int item, int thread) { (*static_cast<Plain*>(erased))(item, thread); });
  }

  static constexpr int kThreadsMax = 256;

 private:
  using Call = void (*)(void* body, int item, int thread);
  void run_erased(int n_items, void* body, Call call);

  struct Shared;
  std::unique_ptr<Shared> shared_;
};

}  // namespace slip
