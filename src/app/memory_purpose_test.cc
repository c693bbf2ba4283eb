#include "app/memory_purpose.h"

#include <gtest/gtest.h>

#include "base/testing/expect_error.h"

namespace slip {
namespace {

using test::fails_with;

TEST(WithMemoryFor, SaysWhatTheMemoryWasFor) {
  EXPECT_TRUE(fails_with(ErrorCode::kInsufficientMemory, "memory for a cache: 12 floats", [] {
    with_memory_for("a cache",
                    []() -> int { throw Error(ErrorCode::kInsufficientMemory, "12 floats"); });
  }));
}

TEST(WithMemoryFor, LeavesOtherErrorsAlone) {
  try {
    with_memory_for("a cache", []() -> int { throw Error(ErrorCode::kDevice, "broken"); });
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "broken");
  }
}

TEST(WithMemoryFor, GivesTheResult) {
  EXPECT_EQ(with_memory_for("a cache", [] { return 7; }), 7);
}

}  // namespace
}  // namespace slip
