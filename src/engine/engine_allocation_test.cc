// Steady steps allocate nothing.

#include <gtest/gtest.h>

#include "base/testing/allocation_count.h"
#include "engine/engine.h"
#include "engine/testing/engine_fixture.h"

namespace slip {
namespace {

TEST(Engine, SteadyStepsAllocateNothing) {
  EngineFixture fixture({.source = {.n_tokens = 6, .wrong_every = 5}});
  const SamplingParams drawn{.shape = {.temperature = 1, .top_p = 0.9f},
                             .penalties = {.presence = 0.1f}};
  for (int32_t i = 0; i < 3; ++i) {
    GenerateRequest request{.prompt = make_prompt(20 + 9 * i, i), .max_tokens = 900};
    if (i > 0) request.sampling = drawn;
    if (i > 1) request.coupling = Coupling::kRejection;
    fixture.engine.submit(std::move(request));
  }
  for (int n = 0; n < 10; ++n) fixture.engine.step();
  const int64_t before = test::n_allocations;
  ASSERT_GT(before, 0);  // the counter counts
  size_t n_chunks = 0;
  for (int n = 0; n < 100; ++n) n_chunks += fixture.engine.step().size();
  EXPECT_EQ(test::n_allocations - before, 0);
  EXPECT_EQ(n_chunks, 300u);  // all three decoded all the while
}

}  // namespace
}  // namespace slip
