#include "base/log.h"

#include <gtest/gtest.h>

namespace slip {
namespace {

std::string stderr_of(log::Level threshold) {
  testing::internal::CaptureStderr();
  log::init(threshold);
  log::error("disk {} of {}", 1, 2);
  log::warning("slow");
  log::info("ready");
  log::debug("detail");
  log::init(log::Level::kWarning);
  return testing::internal::GetCapturedStderr();
}

TEST(Log, WritesOneLineForEachEventWithProgramAndLevel) {
  EXPECT_EQ(stderr_of(log::Level::kDebug),
            "slipstream: error: disk 1 of 2\n"
            "slipstream: warning: slow\n"
            "slipstream: info: ready\n"
            "slipstream: debug: detail\n");
}

TEST(Log, DropsLinesBelowTheLevel) {
  EXPECT_EQ(stderr_of(log::Level::kWarning),
            "slipstream: error: disk 1 of 2\n"
            "slipstream: warning: slow\n");
}

TEST(Log, LeavesStdoutToTheAnswer) {
  testing::internal::CaptureStdout();
  stderr_of(log::Level::kInfo);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
}

}  // namespace
}  // namespace slip
