// How fast this machine reads memory: what a step that has to read its weights cannot beat.
#pragma once

#include <cstdint>

#include "base/thread_pool.h"
#include "tensor/buffer.h"

namespace slip {

inline constexpr int64_t kReadCeilingBytes = int64_t{1} << 30;

class ReadCeiling {
 public:
  // Takes kReadCeilingBytes, more than any last-level cache in use, so that every pass comes from
  // memory.
  //   n_threads  as ModelOptions::n_threads
  explicit ReadCeiling(int n_threads);

  // One pass over the buffer with every thread, GB/s.
  double measure();

 private:
  ThreadPool pool_;
  FloatBuffer buffer_;
  float sink_ = 0;  // keeps the sums alive
};

}  // namespace slip
