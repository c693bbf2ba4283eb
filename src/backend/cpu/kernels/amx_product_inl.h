// y = W x with the matrix unit of AMX, on weights that were put in another order at load. Rows of x
// are the left operand, rounded to BF16, sixteen of them a tile; weights are the right one, exact:
// codes of 8 and 4 bits and E4M3 are numbers that BF16 holds. A group's products add up in float
// inside the unit; scale and bias follow in float, group after group, so an element's order of
// additions does not depend on the other rows, and one row costs what sixteen do.
//
// In a strip (strips_inl.h) codes are tiles of 32 columns by 16 outputs; rows of a tile are pairs
// of columns. Cost of a group of 64 columns and 16 rows: 8 products of 16 cycles, some 400 cycles
// of conversion for 8-bit codes and 200 for 4-bit ones, against 1,200 and 600 to read them.
#pragma once

#include <algorithm>
#include <cstring>

#include <immintrin.h>

#include "backend/cpu/kernels/amx_tiles.h"
#include "backend/cpu/kernels/strips_inl.h"
#include "backend/cpu/kernels/table.h"
#include "tensor/quant.h"

namespace slip::cpu {
namespace {

constexpr int32_t kStripTiles = kStripOuts / 16;
constexpr int32_t kTileColumns = kStepColumns;
constexpr int32_t kChunkRows = 64;  // that share a converted group

// Rows of x as the kernel reads them: tiles [row / 16, column / 32] of BF16, then for each row the
// sums of 32 columns.
inline size_t input_tiles(int32_t n_rows, int32_t n_in) {
  return static_cast<size_t>((n_rows + 15) / 16) * static_cast<size_t>(n_in / kTileColumns);
}
inline size_t amx_input_bytes(int32_t n_rows, int32_t n_in) {
  const size_t n_sums = static_cast<size_t>(n_rows) * static_cast<size_t>(n_in / kTileColumns);
  return input_tiles(n_rows, n_in) * kTileBytes + (n_sums + 15) / 16 * 16 * sizeof(float);
}

inline void amx_prepare_row(const PrepareParams& p) {
  const auto n_steps = static_cast<size_t>(p.n_in / kTileColumns);
  const auto row = static_cast<size_t>(p.row);
  std::byte* tiles = p.inputs + row / 16 * n_steps * kTileBytes + row % 16 * kAmxRowBytes;
  auto* sums = reinterpret_cast<float*>(p.inputs + input_tiles(p.n_rows, p.n_in) * kTileBytes) +
               row * n_steps;
  for (size_t step = 0; step < n_steps; ++step) {
    const float* x = p.x + step * kTileColumns;
    const __m512i pairs =
        reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(_mm512_loadu_ps(x + 16), _mm512_loadu_ps(x)));
    _mm512_store_si512(tiles + step * kTileBytes, pairs);
    const __m512 even = _mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16));
    const __m512 odd = _mm512_castsi512_ps(
        _mm512_and_si512(pairs, _mm512_set1_epi32(static_cast<int>(0xFFFF0000u))));
    sums[step] = _mm512_reduce_add_ps(_mm512_add_ps(even, odd));
  }
}

// Tiles of kTileCodeBytes, [columns / 32, 4].
template <size_t kTileCodeBytes>
struct TiledCodes {
  static constexpr size_t kBytes = kTileCodeBytes;
  static constexpr size_t code_bytes(int32_t n_columns) {
    return static_cast<size_t>(n_columns / kTileColumns * kStripTiles) * kBytes;
  }
  static std::byte* tile(std::byte* group, int32_t column, int32_t out) {
    return group + static_cast<size_t>(column / kTileColumns * kStripTiles + out / 16) * kBytes;
  }
  // Of a code among its tile's: pairs of columns side by side.
  static int32_t place(int32_t column, int32_t out) {
    return column % kTileColumns / 2 * 32 + out % 16 * 2 + column % 2;
  }
};

struct Codes8 : Affine8Format, TiledCodes<512> {
  static void put(std::byte* group, int32_t column, int32_t out, std::byte code) {
    tile(group, column, out)[place(column, out)] = code;
  }
  // A tile as BF16.
  static void decode(const std::byte* from, std::byte* to) {
    for (int32_t r = 0; r < kAmxRows; ++r, from += 32, to += kAmxRowBytes) {
      const __m256i codes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
      const __m512 low = _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm256_castsi256_si128(codes)));
      const __m512 high =
          _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm256_extracti128_si256(codes, 1)));
      _mm512_store_si512(to, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low)));
    }
  }
};

// Rows 2 i and 2 i + 1 of the tile in the low and high halves of the same bytes.
struct Codes4 : Affine4Format, TiledCodes<256> {
  static void put(std::byte* group, int32_t column, int32_t out, std::byte code) {
    const int32_t row = column % kTileColumns / 2;
    tile(group, column, out)[row / 2 * 32 + out % 16 * 2 + column % 2] |= code << (row % 2 * 4);
  }
  static void decode(const std::byte* from, std::byte* to) {
    // A lookup takes five bits: every number twice, so that the bit above a code does not matter.
    alignas(64) static constexpr uint16_t kNumbers[32] = {
        0x0000, 0x3F80, 0x4000, 0x4040, 0x4080, 0x40A0, 0x40C0, 0x40E0, 0x4100, 0x4110, 0x4120,
        0x4130, 0x4140, 0x4150, 0x4160, 0x4170, 0x0000, 0x3F80, 0x4000, 0x4040, 0x4080, 0x40A0,
        0x40C0, 0x40E0, 0x4100, 0x4110, 0x4120, 0x4130, 0x4140, 0x4150, 0x4160, 0x4170};
    const __m512i numbers = _mm512_load_si512(kNumbers);
    for (int32_t r = 0; r < kAmxRows; r += 2, from += 32, to += 2 * kAmxRowBytes) {
      const __m512i codes =
          _mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
      _mm512_store_si512(to, _mm512_permutexvar_epi16(codes, numbers));
      _mm512_store_si512(to + kAmxRowBytes,
                         _mm512_permutexvar_epi16(_mm512_srli_epi16(codes, 4), numbers));
    }
  }
};

// The two bytes of the BF16 number that an E4M3 magnitude stands for.
struct E4M3Bytes {
  alignas(64) uint8_t low[128], high[128];
};
constexpr E4M3Bytes make_e4m3_bytes() {
  constexpr uint16_t kSubnormals[8] = {0x0000, 0x3B00, 0x3B80, 0x3BC0,  // 0 to 7 times 2^-9
                                       0x3C00, 0x3C20, 0x3C40, 0x3C60};
  E4M3Bytes bytes{};
  for (uint32_t m = 0; m < 128; ++m) {
    const uint32_t bits = m < 8 ? kSubnormals[m] : m == 0x7F ? 0x7FC0u : (m << 4) + 0x3C00u;
    bytes.low[m] = static_cast<uint8_t>(bits & 0xFF);
    bytes.high[m] = static_cast<uint8_t>(bits >> 8);
  }
  return bytes;
}
constexpr E4M3Bytes kE4M3Bytes = make_e4m3_bytes();

// Rows 2 i and 2 i + 1 of the tile share 64 bytes, eight of the one after eight of the other, as
// interleaving bytes into numbers wants them.
struct CodesE4M3 : E4M3Format, TiledCodes<512> {
  static void put(std::byte* group, int32_t column, int32_t out, std::byte code) {
    const int32_t row = column % kTileColumns / 2;
    const int32_t at = out % 16 * 2 + column % 2;
    tile(group, column, out)[row / 2 * 64 + at / 8 * 16 + row % 2 * 8 + at % 8] = code;
  }
  static void decode(const std::byte* from, std::byte* to) {
    const auto lookup = [](const uint8_t(&table)[128], __m512i codes) {  // by seven bits
      return _mm512_permutex2var_epi8(_mm512_load_si512(table), codes,
                                      _mm512_load_si512(table + 64));
    };
    const __m512i sign = _mm512_set1_epi8(static_cast<char>(0x80));
    for (int32_t r = 0; r < kAmxRows; r += 2, from += 64, to += 2 * kAmxRowBytes) {
      const __m512i codes = _mm512_loadu_si512(from);
      const __m512i low = lookup(kE4M3Bytes.low, codes);
      const __m512i high =
          _mm512_or_si512(lookup(kE4M3Bytes.high, codes), _mm512_and_si512(codes, sign));
      _mm512_store_si512(to, _mm512_unpacklo_epi8(low, high));
      _mm512_store_si512(to + kAmxRowBytes, _mm512_unpackhi_epi8(low, high));
    }
  }
};

struct AmxProductScratch {
  alignas(64) std::byte weights[2][kGroupColumnsMax / kTileColumns * kStripTiles][kTileBytes];
  alignas(64) float products[2][16][kStripOuts];
  alignas(64) float sums[kChunkRows][kStripOuts];
};

inline void load_scales(const std::byte* from, bool is_bf16, __m512 (&to)[kStripTiles]) {
  for (int32_t t = 0; t < kStripTiles; ++t) {
    if (is_bf16) {
      const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + t * 32));
      to[t] = _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
    } else {
      to[t] = _mm512_loadu_ps(from + t * 64);
    }
  }
}

// The tiles of one group times one tile of rows: sums of 16 outputs each in registers 0 to 3.
inline void multiply_group(const std::byte* x, const std::byte (*weights)[kTileBytes],
                           int32_t n_steps) {
  tile_zero<0>();
  tile_zero<1>();
  tile_zero<2>();
  tile_zero<3>();
  for (int32_t step = 0; step < n_steps; ++step, x += kTileBytes, weights += kStripTiles) {
    tile_load<4>(x);
    tile_load<5>(weights[0]);
    tile_multiply_bf16<0, 4, 5>();
    tile_load<6>(weights[1]);
    tile_multiply_bf16<1, 4, 6>();
    tile_load<7>(weights[2]);
    tile_multiply_bf16<2, 4, 7>();
    tile_load<5>(weights[3]);
    tile_multiply_bf16<3, 4, 5>();
  }
}

inline void store_products(float (*products)[kStripOuts]) {
  constexpr ptrdiff_t kStride = kStripOuts * sizeof(float);
  tile_store<0>(products[0], kStride);
  tile_store<1>(products[0] + 16, kStride);
  tile_store<2>(products[0] + 32, kStride);
  tile_store<3>(products[0] + 48, kStride);
}

template <class Codes>
class AmxProduct {
 public:
  explicit AmxProduct(const PackedParams& p)
      : p_(p),
        w_(*p.weight),
        layout_(w_),
        n_steps_(static_cast<size_t>(w_.n_in / kTileColumns)),
        input_sums_(
            reinterpret_cast<const float*>(p.inputs + input_tiles(p.n_rows, w_.n_in) * kTileBytes)),
        s_(*reinterpret_cast<AmxProductScratch*>(p.scratch)) {}

  void run() {
    const TileScope tiles;
    for (int32_t row = 0; row < p_.n_rows; row += kChunkRows)
      run_chunk(row, std::min(kChunkRows, p_.n_rows - row));
  }

 private:
  const std::byte* group(size_t g) const {
    return p_.packed + static_cast<size_t>(p_.strip) * layout_.strip_bytes +
           g * layout_.group_bytes;
  }

  // Tiles [begin, end) of a group.
  void decode(size_t g, int32_t begin, int32_t end) {
    constexpr int32_t kAhead = 2048;  // the next strip follows this one
    for (int32_t t = begin; t < end; ++t) {
      const std::byte* from = group(g) + static_cast<size_t>(t) * Codes::kBytes;
      for (size_t line = 0; line < Codes::kBytes; line += 64)
        _mm_prefetch(reinterpret_cast<const char*>(from + kAhead + line), _MM_HINT_T1);
      Codes::decode(from, s_.weights[g % 2][t]);
    }
  }

  // One tile of rows against one group is a unit. While the matrix unit works on it, the vector
  // units add the unit before and convert a share of the next group.
  void run_chunk(int32_t first_row, int32_t n_rows) {
    std::fill_n(s_.sums[0], n_rows * kStripOuts, 0.0f);
    const int32_t n_tiles = (n_rows + 15) / 16;
    const int32_t n_weights = steps_per_group() * kStripTiles;
    decode(0, 0, n_weights);
    Unit before{};
    for (size_t g = 0; g < layout_.n_groups; ++g) {
      for (int32_t t = 0; t < n_tiles; ++t) {
        const size_t tile = static_cast<size_t>(first_row / 16 + t) * n_steps_ +
                            g * static_cast<size_t>(steps_per_group());
        multiply_group(p_.inputs + tile * kTileBytes, s_.weights[g % 2], steps_per_group());
        add_unit(before, first_row, n_rows);
        if (g + 1 < layout_.n_groups)
          decode(g + 1, n_weights * t / n_tiles, n_weights * (t + 1) / n_tiles);
        before = {.group = g, .tile = t, .buffer = 1 - before.buffer, .is_there = true};
        store_products(s_.products[before.buffer]);
      }
    }
    add_unit(before, first_row, n_rows);
    for (int32_t r = 0; r < n_rows; ++r) {
      std::copy_n(s_.sums[r], p_.n_outs, p_.y + static_cast<size_t>(first_row + r) * p_.y_stride);
    }
  }

  struct Unit {
    size_t group = 0;
    int32_t tile = 0, buffer = 0;
    bool is_there = false;
  };

  // sums += scale * products + bias * (sum of the group's inputs).
  void add_unit(const Unit& unit, int32_t first_row, int32_t n_rows) {
    if (!unit.is_there) return;
    const size_t g = unit.group;
    const int32_t row = unit.tile * 16;
    const int32_t n = std::min(16, n_rows - row);
    const bool is_bf16 = w_.scale_type == DType::kBF16;
    __m512 scales[kStripTiles], biases[kStripTiles];
    load_scales(group(g) + layout_.code_bytes, is_bf16, scales);
    if constexpr (Codes::kHasBias)
      load_scales(group(g) + layout_.code_bytes + layout_.scale_bytes, is_bf16, biases);
    const auto steps = static_cast<size_t>(steps_per_group());
    for (int32_t r = 0; r < n; ++r) {
      const float* inputs =
          input_sums_ + static_cast<size_t>(first_row + row + r) * n_steps_ + g * steps;
      float input_sum = 0;
      if constexpr (Codes::kHasBias) {
        for (size_t i = 0; i < steps; ++i) input_sum += inputs[i];
      }
      for (int32_t t = 0; t < kStripTiles; ++t) {
        float* at = s_.sums[row + r] + t * 16;
        __m512 sum = _mm512_fmadd_ps(_mm512_load_ps(s_.products[unit.buffer][r] + t * 16),
                                     scales[t], _mm512_load_ps(at));
        if constexpr (Codes::kHasBias)
          sum = _mm512_fmadd_ps(biases[t], _mm512_set1_ps(input_sum), sum);
        _mm512_store_ps(at, sum);
      }
    }
  }

  int32_t steps_per_group() const { return layout_.n_columns / kTileColumns; }

  const PackedParams& p_;
  const WeightView& w_;
  StripLayout<Codes> layout_;
  size_t n_steps_;
  const float* input_sums_;
  AmxProductScratch& s_;
};

template <class Codes>
constexpr PackedProduct amx_product(WeightFormat format) {
  return {.format = format,
          .can = can_pack,
          .packed_bytes = strips_bytes<Codes>,
          .pack_strip = pack_strip<Codes>,
          .product = [](const PackedParams& p) { AmxProduct<Codes>(p).run(); }};
}

// BF16 weights are right operands as they are.
struct CodesBF16 : BF16Format, TiledCodes<kTileBytes> {
  static void put(std::byte* group, int32_t column, int32_t out, uint16_t bits) {
    std::memcpy(tile(group, column, out) + place(column, out) * 2, &bits, sizeof bits);
  }
};

inline void multiply_bf16_strip(const PackedParams& p) {
  const TileScope tiles;
  auto& s = *reinterpret_cast<AmxProductScratch*>(p.scratch);
  const int32_t n_steps = p.weight->n_in / kTileColumns;
  const std::byte* strip =
      p.packed + static_cast<size_t>(p.strip) * StripLayout<CodesBF16>(*p.weight).strip_bytes;
  for (int32_t row = 0; row < p.n_rows; row += 16) {
    const std::byte* x =
        p.inputs + static_cast<size_t>(row / 16) * static_cast<size_t>(n_steps) * kTileBytes;
    multiply_group(x, reinterpret_cast<const std::byte(*)[kTileBytes]>(strip), n_steps);
    store_products(s.products[0]);
    for (int32_t r = row; r < std::min(p.n_rows, row + 16); ++r)
      std::copy_n(s.products[0][r - row], p.n_outs, p.y + static_cast<size_t>(r) * p.y_stride);
  }
}

constexpr PackedProduct kAmxBF16Product = {.format = WeightFormat::kBF16,
                                           .can = can_pack,
                                           .packed_bytes = strips_bytes<CodesBF16>,
                                           .pack_strip = pack_strip<CodesBF16>,
                                           .product = multiply_bf16_strip};

}  // namespace
}  // namespace slip::cpu
