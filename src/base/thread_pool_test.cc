#include "base/thread_pool.h"

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing/allocation_count.h"

namespace slip {
namespace {

// Long enough for a thread that has to be scheduled first, on a busy machine.
constexpr std::chrono::seconds kPatience{20};

template <class Condition>
bool becomes_true(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

TEST(ThreadPool, RunsEveryItemExactlyOnce) {
  for (int n_threads = 1; n_threads <= 4; ++n_threads) {
    ThreadPool pool(n_threads);
    for (const int n_items : {0, 1, 2, 3, 4, 5, 7, 8, 64, 1000, 100'000}) {
      std::vector<std::atomic<int>> n_runs(static_cast<size_t>(n_items));
      pool.run(n_items, [&](int item, int) { ++n_runs[static_cast<size_t>(item)]; });
      for (const auto& count : n_runs) ASSERT_EQ(count, 1) << n_threads << " " << n_items;
    }
  }
}

TEST(ThreadPool, FinishesTenThousandTinyRunsInARow) {
  for (int n_threads = 2; n_threads <= 4; ++n_threads) {
    ThreadPool pool(n_threads);
    int64_t sum_expected = 0;
    std::atomic<int64_t> sum = 0;
    for (int run = 0; run < 10'000; ++run) {
      const int n_items = 2 + run % 5;
      pool.run(n_items, [&, run](int item, int) { sum.fetch_add(run * 10 + item); });
      sum_expected += int64_t{run} * 10 * n_items + n_items * (n_items - 1) / 2;
    }
    EXPECT_EQ(sum, sum_expected);
  }
}

TEST(ThreadPool, ShowsTheCallerWhatTheItemsWrote) {
  ThreadPool pool(3);
  std::vector<int> values(64);  // plain memory: the thread sanitizer watches it too
  for (int run = 1; run <= 500; ++run) {
    pool.run(64, [&](int item, int) { values[static_cast<size_t>(item)] += item; });
    for (int item = 0; item < 64; ++item) {
      ASSERT_EQ(values[static_cast<size_t>(item)], run * item);
    }
  }
}

TEST(ThreadPool, RunsItemsAtTheSameTime) {
  ThreadPool pool(3);
  std::atomic<int> n_started = 0;
  std::atomic<int> n_met = 0;
  pool.run(3, [&](int, int) {
    ++n_started;
    if (becomes_true([&] { return n_started == 3; })) ++n_met;
  });
  EXPECT_EQ(n_met, 3);
}

TEST(ThreadPool, LetsOtherThreadsTakeTheItemsBehindASlowOne) {
  ThreadPool pool(2);
  std::atomic<int> n_quick = 0;
  bool others_ran = false;
  pool.run(9, [&](int item, int) {
    if (item > 0) {
      ++n_quick;
    } else {
      others_ran = becomes_true([&] { return n_quick == 8; });
    }
  });
  EXPECT_TRUE(others_ran);
}

TEST(ThreadPool, NeverGivesOneIndexToTwoThreadsAtATime) {
  constexpr int kThreads = 4;
  ThreadPool pool(kThreads);
  std::vector<std::atomic<bool>> is_taken(kThreads);
  std::atomic<int> n_clashes = 0;
  pool.run(2000, [&](int, int thread) {
    if (is_taken.at(static_cast<size_t>(thread)).exchange(true)) ++n_clashes;
    std::this_thread::yield();
    is_taken[static_cast<size_t>(thread)] = false;
  });
  EXPECT_EQ(n_clashes, 0);
}

TEST(ThreadPool, WakesWorkersThatFellAsleep) {
  ThreadPool pool(2);
  for (int run = 0; run < 20; ++run) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    std::atomic<int> n_started = 0;
    std::atomic<int> n_met = 0;
    pool.run(2, [&](int, int) {
      ++n_started;
      if (becomes_true([&] { return n_started == 2; })) ++n_met;
    });
    ASSERT_EQ(n_met, 2) << run;
  }
}

TEST(ThreadPool, SleepsUntilASlowWorkerIsDone) {
  ThreadPool pool(2);
  std::atomic<bool> worker_has_item = false;
  std::atomic<bool> worker_is_done = false;
  pool.run(2, [&](int, int thread) {
    if (thread == 0) {
      EXPECT_TRUE(becomes_true([&] { return worker_has_item.load(); }));
      return;
    }
    worker_has_item = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    worker_is_done = true;
  });
  EXPECT_TRUE(worker_is_done);
}

TEST(ThreadPool, RunsASingleItemOnTheCaller) {
  ThreadPool pool(4);
  const auto caller = std::this_thread::get_id();
  std::thread::id runner;
  int thread_index = -1;
  pool.run(1, [&](int, int thread) {
    runner = std::this_thread::get_id();
    thread_index = thread;
  });
  EXPECT_EQ(runner, caller);
  EXPECT_EQ(thread_index, 0);
}

TEST(ThreadPool, RunsInOrderWithOneThread) {
  ThreadPool pool(1);
  std::vector<int> order;
  pool.run(4, [&](int item, int) { order.push_back(item); });
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3}));
}

TEST(ThreadPool, RunsABodyThatIsConst) {
  ThreadPool pool(2);
  std::atomic<int> n_runs = 0;
  const auto body = [&n_runs](int, int) { ++n_runs; };
  pool.run(10, body);
  EXPECT_EQ(n_runs, 10);
}

TEST(ThreadPool, AllocatesNothingInRun) {
  ThreadPool pool(3);
  std::atomic<int> sum = 0;
  const auto run_some = [&] {
    for (int run = 0; run < 100; ++run) pool.run(8, [&](int item, int) { sum += item; });
  };
  run_some();
  const int64_t before = test::n_allocations;
  run_some();
  EXPECT_EQ(test::n_allocations, before);
}

TEST(ThreadPool, StopsCleanlyWhateverItsWorkersAreAt) {
  std::atomic<int> n_runs = 0;
  for (int round = 0; round < 200; ++round) {
    ThreadPool pool(1 + round % 4);
    if (round % 3 != 0) pool.run(round % 7, [&](int, int) { ++n_runs; });
  }
  int n_expected = 0;
  for (int round = 0; round < 200; ++round) n_expected += round % 3 != 0 ? round % 7 : 0;
  EXPECT_EQ(n_runs, n_expected);
}

TEST(ThreadPoolDeathTest, RefusesARunInsideARun) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        ThreadPool pool(2);
        pool.run(2, [&](int, int) { pool.run(2, [](int, int) {}); });
      },
      "n_unfinished");
}

TEST(ThreadPoolDeathTest, RefusesZeroThreads) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(ThreadPool(0), "n_threads");
}

}  // namespace
}  // namespace slip
