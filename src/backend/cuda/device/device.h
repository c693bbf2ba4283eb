// What the host asks of a GPU: memory, copies, order. Nothing here names CUDA, so that everything
// above compiles anywhere; device/cuda_device.cc does the work, and emulation/emulated_device.cc in
// its place runs the same program on a CPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace slip::cuda {

struct DeviceInfo {
  std::string name;  // "NVIDIA H200"
  int32_t n_multiprocessors = 0;
  int64_t total_bytes = 0, free_bytes = 0;  // of its memory
  int64_t granule_bytes = 0;                // of virtual memory: sizes of ranges are multiples
};

// Makes device `index` the current one of this thread. Throws Error{kDevice} saying why there is
// none, or that there are fewer.
DeviceInfo use_device(int index);

// Work in order; asynchronous to the host.
class Stream {
 public:
  Stream();
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Until everything given so far is done. Throws Error{kDevice} where some of it failed.
  void wait();

  // Host memory is pinned, or stays untouched until the next wait().
  void to_device(void* to, const void* from, size_t n_bytes);
  void to_host(void* to, const void* from, size_t n_bytes);
  void on_device(void* to, const void* from, size_t n_bytes);
  void fill(void* to, std::byte value, size_t n_bytes);

  void* handle() const { return handle_; }  // cudaStream_t

 private:
  void* handle_ = nullptr;
};

// Memory that the plan counts. Throw Error{kInsufficientMemory} with the size.
void* allocate_device(size_t n_bytes);
void free_device(void* memory) noexcept;
void* allocate_pinned(size_t n_bytes);
void free_pinned(void* memory) noexcept;

// n elements, undefined at first.
template <class T, void* (*kAllocate)(size_t), void (*kFree)(void*) noexcept>
class Memory {
 public:
  Memory() = default;
  explicit Memory(size_t n)
      : data_(n > 0 ? static_cast<T*>(kAllocate(n * sizeof(T))) : nullptr), size_(n) {}

  T* data() const { return data_.get(); }  // null where n is 0, and after a move
  size_t size() const { return data_ ? size_ : 0; }
  size_t n_bytes() const { return size() * sizeof(T); }

 private:
  struct Free {
    void operator()(T* data) const { kFree(data); }
  };
  std::unique_ptr<T, Free> data_;
  size_t size_ = 0;
};
template <class T>
using DeviceMemory = Memory<T, allocate_device, free_device>;
template <class T>
using PinnedMemory = Memory<T, allocate_pinned, free_pinned>;  // of the host

// Physical memory that can be seen at several addresses.
class Granules {
 public:
  // Takes `n` granules of device_info().granule_bytes. Throws Error{kInsufficientMemory}.
  Granules(int32_t n, int64_t granule_bytes);
  ~Granules();
  Granules(const Granules&) = delete;
  Granules& operator=(const Granules&) = delete;

  int32_t size() const { return n_; }
  int64_t granule_bytes() const { return granule_bytes_; }

 private:
  friend class Range;
  struct Impl;
  std::unique_ptr<Impl> impl_;
  int32_t n_;
  int64_t granule_bytes_;
};

// Addresses without memory, until granules are mapped there, from the first on.
class Range {
 public:
  // `granules` outlives this object. Throws Error{kInsufficientMemory} where addresses are refused.
  Range(const Granules& granules, int32_t n_granules_max);
  ~Range();
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;

  std::byte* data() const { return data_; }
  int32_t n_mapped() const { return n_mapped_; }

  // The next granule_bytes become granule `index`, which may be mapped elsewhere too. False where
  // the device has no memory left for that; nothing has changed then.
  [[nodiscard]] bool map(int32_t index);
  void unmap_behind(int32_t n_kept);  // nothing on the device uses the others any more

 private:
  const Granules& granules_;
  int32_t n_max_, n_mapped_ = 0;
  std::byte* data_ = nullptr;
};

}  // namespace slip::cuda
