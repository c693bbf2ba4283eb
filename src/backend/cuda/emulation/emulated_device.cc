// The device of tests: a CPU whose memory is the host's.

#include <cstdlib>
#include <cstring>
#include <string>

#include <sys/mman.h>
#include <unistd.h>

#include "backend/cuda/device/device.h"
#include "base/check.h"
#include "base/error.h"

namespace slip::cuda {
namespace {

constexpr int64_t kGranuleBytes = 64 << 10;
constexpr int64_t kMemoryBytes = int64_t{1} << 32;

[[noreturn]] void refuse(const char* what, size_t n_bytes) {
  throw Error(ErrorCode::kInsufficientMemory,
              std::string(what) + ": " + std::to_string(n_bytes) + " bytes were refused");
}

void* allocate(const char* what, size_t n_bytes) {
  if (n_bytes > size_t{kMemoryBytes}) refuse(what, n_bytes);
  void* memory = std::aligned_alloc(256, (n_bytes + 255) / 256 * 256);
  if (memory == nullptr) refuse(what, n_bytes);
  std::memset(memory, 0xFF, n_bytes);  // undefined: NaN
  return memory;
}

}  // namespace

DeviceInfo use_device(int index) {
  if (index != 0) {
    throw Error(ErrorCode::kDevice,
                "GPU: found number " + std::to_string(index) + ", wanted 0 to 0");
  }
  return {.name = "emulated GPU",
          .n_multiprocessors = 4,
          .total_bytes = kMemoryBytes,
          .free_bytes = kMemoryBytes,
          .granule_bytes = kGranuleBytes};
}

Stream::Stream() = default;
Stream::~Stream() { handle_ = nullptr; }
void Stream::wait() {}
void Stream::to_device(void* to, const void* from, size_t n_bytes) {
  if (n_bytes > 0) std::memcpy(to, from, n_bytes);
}
void Stream::to_host(void* to, const void* from, size_t n_bytes) { to_device(to, from, n_bytes); }
void Stream::on_device(void* to, const void* from, size_t n_bytes) { to_device(to, from, n_bytes); }
void Stream::fill(void* to, std::byte value, size_t n_bytes) {
  if (n_bytes > 0) std::memset(to, static_cast<int>(value), n_bytes);
}

void* allocate_device(size_t n_bytes) { return allocate("device memory", n_bytes); }
void free_device(void* memory) noexcept { std::free(memory); }
void* allocate_pinned(size_t n_bytes) { return allocate("pinned memory", n_bytes); }
void free_pinned(void* memory) noexcept { std::free(memory); }

// One file without a name; a granule is a part of it.
struct Granules::Impl {
  int file = -1;
  ~Impl() {
    if (file >= 0) ::close(file);
  }
};

Granules::Granules(int32_t n, int64_t granule_bytes)
    : impl_(std::make_unique<Impl>()), n_(n), granule_bytes_(granule_bytes) {
  const int64_t n_bytes = n * granule_bytes;
  if (n_bytes > kMemoryBytes) refuse("granules", static_cast<size_t>(n_bytes));
  impl_->file = ::memfd_create("slipstream granules", 0);
  if (impl_->file < 0 || ::ftruncate(impl_->file, n_bytes) != 0)
    refuse("granules", static_cast<size_t>(n_bytes));
}
Granules::~Granules() = default;

Range::Range(const Granules& granules, int32_t n_granules_max)
    : granules_(granules), n_max_(n_granules_max) {
  const auto n_bytes = static_cast<size_t>(n_granules_max * granules.granule_bytes());
  void* data = ::mmap(nullptr, n_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) refuse("addresses", n_bytes);
  data_ = static_cast<std::byte*>(data);
}

Range::~Range() { ::munmap(data_, static_cast<size_t>(n_max_ * granules_.granule_bytes())); }

bool Range::map(int32_t index) {
  SLIP_CHECK(n_mapped_ < n_max_ && index >= 0 && index < granules_.size());
  const int64_t bytes = granules_.granule_bytes();
  void* at = data_ + n_mapped_ * bytes;
  SLIP_CHECK(::mmap(at, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                    granules_.impl_->file, index * bytes) == at);
  ++n_mapped_;
  return true;
}

void Range::unmap_behind(int32_t n_kept) {
  if (n_mapped_ <= n_kept) return;
  std::byte* from = data_ + n_kept * granules_.granule_bytes();
  const auto n_bytes = static_cast<size_t>((n_mapped_ - n_kept) * granules_.granule_bytes());
  SLIP_CHECK(::mmap(from, n_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
             from);
  n_mapped_ = n_kept;
}

}  // namespace slip::cuda
