// Counts every allocation of a test program by replacing operator new. Included by exactly one file
// of the program; the linker refuses a second one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace slip::test {

inline std::atomic<int64_t> n_allocations{0};

}  // namespace slip::test

// Not inlined: the compiler would see malloc() meet delete, or new meet free(), and warn of what is
// meant here.
[[gnu::noinline]] void* operator new(size_t n_bytes) {
  ++slip::test::n_allocations;
  if (void* memory = std::malloc(n_bytes > 0 ? n_bytes : 1)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new[](size_t n_bytes) { return operator new(n_bytes); }
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
