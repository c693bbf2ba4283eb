// The physical floor of plain decoding on a CPU: how fast memory can be read.
#pragma once

#include "base/thread_pool.h"
#include "tensor/buffer.h"

namespace slip::bench {

class ReadFloor {
 public:
  // The buffer is larger than any last-level cache in use, so that every pass comes from memory.
  ReadFloor();

  // One pass over the buffer with every thread of `pool`, in GB/s.
  double measure(ThreadPool& pool);

 private:
  FloatBuffer buffer_;
  float sink_ = 0;  // keeps the sums alive
};

}  // namespace slip::bench
