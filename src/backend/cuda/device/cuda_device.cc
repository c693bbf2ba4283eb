#include <vector>

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "backend/cuda/device/device.h"
#include "base/check.h"
#include "base/error.h"

namespace slip::cuda {
namespace {

[[noreturn]] void fail(ErrorCode code, const std::string& what, cudaError_t error) {
  throw Error(code, what + ": " + cudaGetErrorString(error));
}

void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) fail(ErrorCode::kDevice, what, error);
}

void check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  const bool is_memory = result == CUDA_ERROR_OUT_OF_MEMORY;
  throw Error(is_memory ? ErrorCode::kInsufficientMemory : ErrorCode::kDevice,
              std::string(what) + ": driver error " + std::to_string(result));
}

// The driver's own functions, asked for at run time: the program starts where there is no driver.
template <class Function>
Function* driver(const char* name) {
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult found{};
  check(cudaGetDriverEntryPointByVersion(name, &entry, 12000, cudaEnableDefault, &found), name);
  if (entry == nullptr) throw Error(ErrorCode::kDevice, std::string(name) + ": not in this driver");
  return reinterpret_cast<Function*>(entry);
}

struct Driver {
  decltype(cuMemGetAllocationGranularity)* granularity =
      driver<decltype(cuMemGetAllocationGranularity)>("cuMemGetAllocationGranularity");
  decltype(cuMemCreate)* create = driver<decltype(cuMemCreate)>("cuMemCreate");
  decltype(cuMemRelease)* release = driver<decltype(cuMemRelease)>("cuMemRelease");
  decltype(cuMemAddressReserve)* reserve =
      driver<decltype(cuMemAddressReserve)>("cuMemAddressReserve");
  decltype(cuMemAddressFree)* free = driver<decltype(cuMemAddressFree)>("cuMemAddressFree");
  decltype(cuMemMap)* map = driver<decltype(cuMemMap)>("cuMemMap");
  decltype(cuMemUnmap)* unmap = driver<decltype(cuMemUnmap)>("cuMemUnmap");
  decltype(cuMemSetAccess)* set_access = driver<decltype(cuMemSetAccess)>("cuMemSetAccess");
};

const Driver& the_driver() {
  static const Driver functions;
  return functions;
}

CUmemAllocationProp memory_of_current_device() {
  int index = 0;
  check(cudaGetDevice(&index), "current device");
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, index};
  return prop;
}

cudaStream_t of(void* handle) { return static_cast<cudaStream_t>(handle); }

}  // namespace

DeviceInfo use_device(int index) {
  int n_devices = 0;
  const cudaError_t error = cudaGetDeviceCount(&n_devices);
  if (error != cudaSuccess) fail(ErrorCode::kDevice, "no usable NVIDIA GPU", error);
  if (index < 0 || index >= n_devices) {
    throw Error(ErrorCode::kDevice, "GPU: found number " + std::to_string(index) +
                                        ", wanted 0 to " + std::to_string(n_devices - 1));
  }
  check(cudaSetDevice(index), "choosing a GPU");
  check(cudaFree(nullptr), "starting the GPU");  // makes the context
  cudaDeviceProp prop{};
  check(cudaGetDeviceProperties(&prop, index), "properties of the GPU");
  size_t free = 0, total = 0, granule = 0;
  check(cudaMemGetInfo(&free, &total), "memory of the GPU");
  const CUmemAllocationProp memory = memory_of_current_device();
  check(the_driver().granularity(&granule, &memory, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
        "granularity of memory");
  return {.name = prop.name,
          .n_multiprocessors = prop.multiProcessorCount,
          .total_bytes = static_cast<int64_t>(total),
          .free_bytes = static_cast<int64_t>(free),
          .granule_bytes = static_cast<int64_t>(granule)};
}

Stream::Stream() {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  handle_ = stream;
}
Stream::~Stream() { cudaStreamDestroy(of(handle_)); }
void Stream::wait() { check(cudaStreamSynchronize(of(handle_)), "GPU"); }

void Stream::to_device(void* to, const void* from, size_t n_bytes) {
  if (n_bytes == 0) return;
  check(cudaMemcpyAsync(to, from, n_bytes, cudaMemcpyHostToDevice, of(handle_)), "copy to GPU");
}
void Stream::to_host(void* to, const void* from, size_t n_bytes) {
  if (n_bytes == 0) return;
  check(cudaMemcpyAsync(to, from, n_bytes, cudaMemcpyDeviceToHost, of(handle_)), "copy from GPU");
}
void Stream::on_device(void* to, const void* from, size_t n_bytes) {
  if (n_bytes == 0) return;
  check(cudaMemcpyAsync(to, from, n_bytes, cudaMemcpyDeviceToDevice, of(handle_)), "copy on GPU");
}
void Stream::fill(void* to, std::byte value, size_t n_bytes) {
  if (n_bytes == 0) return;
  check(cudaMemsetAsync(to, static_cast<int>(value), n_bytes, of(handle_)), "fill on GPU");
}

void* allocate_device(size_t n_bytes) {
  void* memory = nullptr;
  const cudaError_t error = cudaMalloc(&memory, n_bytes);
  if (error == cudaSuccess) return memory;
  cudaGetLastError();  // it is dealt with
  fail(ErrorCode::kInsufficientMemory, "GPU memory, " + std::to_string(n_bytes) + " bytes", error);
}
void free_device(void* memory) noexcept { cudaFree(memory); }

void* allocate_pinned(size_t n_bytes) {
  void* memory = nullptr;
  const cudaError_t error = cudaMallocHost(&memory, n_bytes);
  if (error == cudaSuccess) return memory;
  cudaGetLastError();
  fail(ErrorCode::kInsufficientMemory, "pinned memory, " + std::to_string(n_bytes) + " bytes",
       error);
}
void free_pinned(void* memory) noexcept { cudaFreeHost(memory); }

struct Granules::Impl {
  std::vector<CUmemGenericAllocationHandle> handles;
  ~Impl() {
    for (const CUmemGenericAllocationHandle handle : handles) the_driver().release(handle);
  }
};

Granules::Granules(int32_t n, int64_t granule_bytes)
    : impl_(std::make_unique<Impl>()), n_(n), granule_bytes_(granule_bytes) {
  const CUmemAllocationProp prop = memory_of_current_device();
  size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "memory of the GPU");
  if (n * granule_bytes > static_cast<int64_t>(free)) {
    throw Error(ErrorCode::kInsufficientMemory, "GPU memory for the KV cache: found " +
                                                    std::to_string(free) + " bytes free, wanted " +
                                                    std::to_string(n * granule_bytes));
  }
  impl_->handles.reserve(static_cast<size_t>(n));
  for (int32_t i = 0; i < n; ++i) {
    CUmemGenericAllocationHandle handle{};
    check(the_driver().create(&handle, static_cast<size_t>(granule_bytes), &prop, 0),
          "GPU memory for the KV cache");
    impl_->handles.push_back(handle);
  }
}
Granules::~Granules() = default;

Range::Range(const Granules& granules, int32_t n_granules_max)
    : granules_(granules), n_max_(n_granules_max) {
  CUdeviceptr at = 0;
  const auto n_bytes = static_cast<size_t>(n_max_ * granules.granule_bytes());
  check(the_driver().reserve(&at, n_bytes, 0, 0, 0), "GPU addresses for the KV cache");
  data_ = reinterpret_cast<std::byte*>(at);
}

Range::~Range() {
  unmap_behind(0);
  the_driver().free(reinterpret_cast<CUdeviceptr>(data_),
                    static_cast<size_t>(n_max_ * granules_.granule_bytes()));
}

bool Range::map(int32_t index) {
  SLIP_CHECK(n_mapped_ < n_max_ && index >= 0 && index < granules_.size());
  const auto n_bytes = static_cast<size_t>(granules_.granule_bytes());
  const auto at = reinterpret_cast<CUdeviceptr>(data_) + static_cast<size_t>(n_mapped_) * n_bytes;
  const CUresult mapped =
      the_driver().map(at, n_bytes, 0, granules_.impl_->handles[static_cast<size_t>(index)], 0);
  if (mapped == CUDA_ERROR_OUT_OF_MEMORY) return false;
  check(mapped, "mapping GPU memory");
  CUmemAccessDesc access{};
  access.location = memory_of_current_device().location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  const CUresult opened = the_driver().set_access(at, n_bytes, &access, 1);
  if (opened != CUDA_SUCCESS) the_driver().unmap(at, n_bytes);
  if (opened == CUDA_ERROR_OUT_OF_MEMORY) return false;
  check(opened, "opening GPU memory");
  ++n_mapped_;
  return true;
}

// One call for each granule: ranges are unmapped as they were mapped.
void Range::unmap_behind(int32_t n_kept) {
  const auto n_bytes = static_cast<size_t>(granules_.granule_bytes());
  const auto at = reinterpret_cast<CUdeviceptr>(data_);
  for (; n_mapped_ > n_kept; --n_mapped_)
    the_driver().unmap(at + static_cast<size_t>(n_mapped_ - 1) * n_bytes, n_bytes);
}

}  // namespace slip::cuda
