// Owned memory for activations, caches and workspaces: aligned for every vector unit, zero at
// first, never resized.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace slip {

inline constexpr size_t kBufferAlignment = 64;  // a cache line, and the widest vector register

// `n_floats` or a few more, so that what follows them begins on a cache line, too.
constexpr size_t whole_lines(size_t n_floats) {
  constexpr size_t kLine = kBufferAlignment / sizeof(float);
  return (n_floats + kLine - 1) / kLine * kLine;
}

// Whole zeroed pages, touched on first use, so that a large buffer costs only what is written.
// Throws Error{kInsufficientMemory} with the size when the system refuses.
void* map_pages(size_t n_elements, size_t element_bytes);
void unmap_pages(void* pages, size_t n_bytes);

// n elements, all bits zero.
template <class T>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(size_t n) {
    if (n > 0) data_ = {static_cast<T*>(map_pages(n, sizeof(T))), Unmap{n}};
  }

  T* data() const { return data_.get(); }  // null where n is 0, and after a move
  size_t size() const { return data_ ? data_.get_deleter().size : 0; }
  size_t n_bytes() const { return size() * sizeof(T); }
  std::span<T> span() const { return {data(), size()}; }

 private:
  struct Unmap {
    size_t size;  // elements
    void operator()(T* data) const { unmap_pages(data, size * sizeof(T)); }
  };
  std::unique_ptr<T, Unmap> data_;
};

using FloatBuffer = Buffer<float>;
using ByteBuffer = Buffer<std::byte>;

}  // namespace slip
