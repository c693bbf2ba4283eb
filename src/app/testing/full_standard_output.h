// A standard output that takes nothing, for one test.
#pragma once

#include <cstdio>

#include <fcntl.h>
#include <unistd.h>

#include "base/check.h"

namespace slip::test {

class FullStandardOutput {
 public:
  FullStandardOutput() : before_(dup(STDOUT_FILENO)) {
    std::fflush(stdout);
    const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    SLIP_CHECK(before_ >= 0 && full >= 0 && dup2(full, STDOUT_FILENO) >= 0);
    close(full);
  }
  ~FullStandardOutput() {
    std::fflush(stdout);
    std::clearerr(stdout);
    dup2(before_, STDOUT_FILENO);
    close(before_);
  }
  FullStandardOutput(const FullStandardOutput&) = delete;
  FullStandardOutput& operator=(const FullStandardOutput&) = delete;

 private:
  int before_;
};

}  // namespace slip::test
