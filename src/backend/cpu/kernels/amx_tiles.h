// The tile registers of AMX as a vocabulary: eight tiles of 16 rows by 64 bytes. Inline assembly
// that clobbers memory, because the compiler's tile intrinsics do not order the configuration with
// respect to it (gcc 12).
// Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, chapter 18.
#pragma once

#include <cstddef>
#include <cstdint>

namespace slip::cpu {
namespace {

constexpr int32_t kAmxRows = 16;
constexpr int32_t kAmxRowBytes = 64;
constexpr size_t kTileBytes = size_t{kAmxRows} * size_t{kAmxRowBytes};

// All tiles are usable, with full rows, while one of these lives. Tiles that are left in use would
// make every switch of threads save them.
class TileScope {
 public:
  TileScope() {
    struct alignas(64) Configuration {
      uint8_t palette = 1;
      uint8_t start_row = 0;
      uint8_t reserved[14] = {};
      uint16_t row_bytes[16] = {};
      uint8_t rows[16] = {};
    } configuration;
    for (int i = 0; i < 8; ++i) {
      configuration.row_bytes[i] = kAmxRowBytes;
      configuration.rows[i] = kAmxRows;
    }
    asm volatile("ldtilecfg %0" ::"m"(configuration) : "memory");
  }
  ~TileScope() { asm volatile("tilerelease" ::: "memory"); }
  TileScope(const TileScope&) = delete;
  TileScope& operator=(const TileScope&) = delete;
};

template <int kTile>
inline void tile_zero() {
  asm volatile("tilezero %%tmm%c0" ::"i"(kTile));
}

// Rows are `stride` bytes apart.
template <int kTile>
inline void tile_load(const void* from, ptrdiff_t stride = kAmxRowBytes) {
  asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(stride), "i"(kTile) : "memory");
}

template <int kTile>
inline void tile_store(void* to, ptrdiff_t stride = kAmxRowBytes) {
  asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(to), "r"(stride), "i"(kTile) : "memory");
}

// C[m, n] += sum over k of A[m, k] * B[k, n]: A is 16 x 32 BF16, B 32 x 16 with rows k and k + 1
// interleaved, C 16 x 16 floats. An element's terms are added in ascending order of k, pair by
// pair, whatever the others are.
template <int kC, int kA, int kB>
inline void tile_multiply_bf16() {
  asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kC), "i"(kA), "i"(kB));
}

}  // namespace
}  // namespace slip::cpu
