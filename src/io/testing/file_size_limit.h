// A full disk in small.
#pragma once

#include <csignal>

#include <sys/resource.h>

namespace slip::test {

// No file of this process may grow beyond `n_bytes` while the object lives.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t n_bytes) : handler_before_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &limit_before_);
    const rlimit limit = {n_bytes, limit_before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &limit_before_);
    std::signal(SIGXFSZ, handler_before_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit limit_before_ = {};
  void (*handler_before_)(int);
};

}  // namespace slip::test
