// Steady steps allocate nothing. The whole program counts its allocations, so this file also
// replaces operator new.
#include <atomic>
#include <cstdlib>
#include <new>

#include <gtest/gtest.h>

#include "engine/engine.h"
#include "engine/testing/engine_fixture.h"

namespace {

std::atomic<int64_t> n_allocations{0};

void* count_and_allocate(std::size_t n_bytes) {
  ++n_allocations;
  if (void* memory = std::malloc(n_bytes > 0 ? n_bytes : 1)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t n_bytes) { return count_and_allocate(n_bytes); }
void* operator new[](std::size_t n_bytes) { return count_and_allocate(n_bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace slip {
namespace {

TEST(Engine, SteadyStepsAllocateNothing) {
  EngineFixture fixture({.source = {.n_tokens = 6, .wrong_every = 5}});
  for (int32_t i = 0; i < 3; ++i) {
    fixture.engine.submit(
        {.prompt = make_prompt(20 + 9 * i, i), .max_tokens = 900, .stop_ids = {}, .seed = 0});
  }
  for (int n = 0; n < 10; ++n) fixture.engine.step();
  const int64_t before = n_allocations;
  ASSERT_GT(before, 0);  // the counter counts
  size_t n_chunks = 0;
  for (int n = 0; n < 100; ++n) n_chunks += fixture.engine.step().size();
  EXPECT_EQ(n_allocations - before, 0);
  EXPECT_EQ(n_chunks, 300u);  // all three decoded all the while
}

}  // namespace
}  // namespace slip
