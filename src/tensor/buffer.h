// Owned memory for activations, caches and workspaces: aligned for every vector unit, zero at
// first, never resized.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace slip {

inline constexpr size_t kBufferAlignment = 64;  // a cache line, and the widest vector register

// n floats, zeroed. Pages are touched on first use, so a large buffer costs only what is written.
// Throws Error{kInsufficientMemory} with the size when the system refuses.
class FloatBuffer {
 public:
  FloatBuffer() = default;
  explicit FloatBuffer(size_t n);

  float* data() const { return data_.get(); }  // null where n is 0, and after a move
  size_t size() const { return data_ ? data_.get_deleter().size : 0; }
  size_t n_bytes() const { return size() * sizeof(float); }
  std::span<float> span() const { return {data(), size()}; }

 private:
  struct Unmap {
    size_t size;  // floats
    void operator()(float* data) const;
  };
  std::unique_ptr<float, Unmap> data_;
};

}  // namespace slip
