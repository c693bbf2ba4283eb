// Another standard input for one test.
#pragma once

#include <cstdio>
#include <filesystem>

#include <unistd.h>

#include "base/check.h"

namespace slip::test {

// While the object lives, what is read from stdin comes from `path`.
class StandardInput {
 public:
  explicit StandardInput(const std::filesystem::path& path) : before_(dup(STDIN_FILENO)) {
    SLIP_CHECK(std::freopen(path.c_str(), "r", stdin) != nullptr);
  }
  ~StandardInput() {
    std::clearerr(stdin);
    if (before_ < 0) return;  // there was none
    dup2(before_, STDIN_FILENO);
    close(before_);
  }
  StandardInput(const StandardInput&) = delete;
  StandardInput& operator=(const StandardInput&) = delete;

 private:
  int before_;
};

}  // namespace slip::test
