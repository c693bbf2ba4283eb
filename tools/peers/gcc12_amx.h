// Before GCC 13 the operand of _tile_loadconfig names only the first 8 of the 64 bytes that the
// instruction reads, so the optimiser drops the stores to the others and ggml's AMX kernels die or
// multiply by nothing. Included before every source.
#pragma once
#if defined(__cplusplus) && defined(__GNUC__) && !defined(__clang__) && defined(__AMX_TILE__)
#include <immintrin.h>
#define _tile_loadconfig(config) \
  __asm__ volatile("ldtilecfg %0" ::"m"(*reinterpret_cast<const char(*)[64]>(config)) : "memory")
#endif
