#include "tensor/buffer.h"

#include <limits>
#include <string>

#include <sys/mman.h>

#include "base/check.h"
#include "base/error.h"

namespace slip {

FloatBuffer::FloatBuffer(size_t n) {
  if (n == 0) return;
  const bool fits = n <= std::numeric_limits<size_t>::max() / sizeof(float);
  void* const pages = fits ? mmap(nullptr, n * sizeof(float), PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                           : MAP_FAILED;
  if (pages == MAP_FAILED) {
    throw Error(ErrorCode::kInsufficientMemory,
                "the system refused a buffer of " + std::to_string(n) + " floats");
  }
  data_ = {static_cast<float*>(pages), Unmap{n}};
}

void FloatBuffer::Unmap::operator()(float* data) const {
  SLIP_CHECK(munmap(data, size * sizeof(float)) == 0);
}

}  // namespace slip
