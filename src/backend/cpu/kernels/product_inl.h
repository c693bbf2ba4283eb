// y = W x for weights as they lie in the file. Up to four rows of x: a weight is converted in
// registers and used for all of them. More: a panel of eight outputs is converted into the
// first-level cache once and a 4 x 3 register tile runs over it. Both add the same numbers in the
// same order. Cost on AVX2: one row costs two FMA per eight weights (about 4 bytes of codes a
// cycle, measured); many rows approach one FMA per eight weights and row.
#pragma once

#include <algorithm>
#include <array>
#include <type_traits>

#include "backend/cpu/kernels/simd.h"
#include "backend/cpu/kernels/table.h"
#include "base/enum_table.h"

namespace slip::cpu {
namespace {

constexpr int32_t kDirectRowsMax = 4;  // beyond it a panel is cheaper, by measurement
constexpr int32_t kRowsPerPass = 48;
constexpr int32_t kTileOuts = 4;
constexpr int32_t kTileRows =
    3;  // 4 x 3 sums, 3 inputs and a weight: the sixteen registers of AVX2
constexpr int32_t kSpanColumns =
    64;  // columns read from one output before turning to the next, where there are no groups

// Codes are asked for this far ahead: rows lie one behind the other, but read four at a time they
// look like four short streams, which the hardware's own prefetching gives up on.
constexpr int32_t kPrefetchBytes = 6144;

// Below: one row of a weight, as spans of columns with a common header and eight values at a
// column.

// No scales.
template <size_t kElementBytes, F8 (*kLoad)(const std::byte*)>
struct PlainRow {
  struct Header {};
  PlainRow() = default;
  PlainRow(const WeightView& w, int32_t row)
      : data(w.data + static_cast<size_t>(row) * static_cast<size_t>(w.n_in) * kElementBytes) {}
  static int32_t span(const WeightView&) { return kSpanColumns; }
  Header header(int32_t) const { return {}; }
  F8 values(Header, int32_t column) const {
    return kLoad(data + static_cast<size_t>(column) * kElementBytes);
  }
  const std::byte* data;
};

// One scale in every lane. BF16 is what nearly all checkpoints have.
inline F8 splat_scale(DType type, const std::byte* scales, size_t index) {
  if (type == DType::kBF16) return splat_bf16(scales + index * sizeof(BFloat16));
  return splat(load_float(type, scales, index));
}

template <int kBits>
struct AffineRow {
  struct Header {
    F8 scale, bias;
  };
  AffineRow() = default;
  AffineRow(const WeightView& w, int32_t row)
      : codes(w.data + static_cast<size_t>(row) * static_cast<size_t>(w.n_in / kLanes * kBits)),
        scales(w.scales),
        biases(w.biases),
        first_group(static_cast<size_t>(row) * static_cast<size_t>(w.n_in / w.group_size)),
        group_size(w.group_size),
        scale_type(w.scale_type) {}
  static int32_t span(const WeightView& w) { return w.group_size; }
  Header header(int32_t column) const {
    __builtin_prefetch(at(column) + kPrefetchBytes);
    const size_t group = first_group + static_cast<size_t>(column / group_size);
    return {splat_scale(scale_type, scales, group), splat_scale(scale_type, biases, group)};
  }
  F8 values(const Header& header, int32_t column) const {
    const I8 codes_here = unpack_codes<kBits>(at(column));
    return fma(header.scale, __builtin_convertvector(codes_here, F8), header.bias);
  }
  // Eight codes fill kBits bytes, so every eighth column starts a byte.
  const std::byte* at(int32_t column) const {
    return codes + static_cast<size_t>(column / kLanes) * kBits;
  }
  const std::byte* codes;
  const std::byte* scales;
  const std::byte* biases;
  size_t first_group;
  int32_t group_size;
  DType scale_type;
};

struct Fp8BlockRow {
  struct Header {
    F8 scale;
  };
  Fp8BlockRow() = default;
  Fp8BlockRow(const WeightView& w, int32_t row)
      : codes(w.data + static_cast<size_t>(row) * static_cast<size_t>(w.n_in)),
        scales(w.scales),
        scale_type(w.scale_type) {
    const int32_t n_scales = (w.n_in + kFp8BlockColumns - 1) / kFp8BlockColumns;
    first_scale = static_cast<size_t>(row / kFp8BlockRows) * static_cast<size_t>(n_scales);
  }
  static int32_t span(const WeightView&) { return kFp8BlockColumns; }
  Header header(int32_t column) const {
    __builtin_prefetch(codes + column + kPrefetchBytes);
    const size_t index = first_scale + static_cast<size_t>(column / kFp8BlockColumns);
    return {splat_scale(scale_type, scales, index)};
  }
  F8 values(const Header& header, int32_t column) const {
    return load_e4m3<F8>(codes + column) * header.scale;
  }
  const std::byte* codes;
  const std::byte* scales;
  size_t first_scale;
  DType scale_type;
};

// Calls body(constant) with `value` as a compile-time constant in [1, kMax].
template <int kMax, class Body>
inline void with_count(int value, Body&& body) {
  if constexpr (kMax == 1) {
    body(std::integral_constant<int, 1>{});
  } else if (value == kMax) {
    body(std::integral_constant<int, kMax>{});
  } else {
    with_count<kMax - 1>(value, body);
  }
}

// Calls body(header, column) for every eight columns in [begin, end).
template <class Row, class Body>
inline void for_columns(const Row& row, int32_t span, int32_t begin, int32_t end, Body&& body) {
  while (begin < end) {
    const int32_t stop = std::min(end, (begin / span + 1) * span);
    const typename Row::Header header = row.header(begin);
#pragma GCC unroll 4
    for (; begin < stop; begin += kLanes) body(header, begin);
  }
}

// The finished sums of up to four outputs of one row.
inline void store_outs(F4 sums, float* y, int32_t n_outs) {
  __builtin_memcpy(y, &sums, static_cast<size_t>(n_outs) * sizeof(float));
}

// Outputs beside `rows` rows of x: enough sums to hide the latency of FMA, few enough to stay in
// registers with their headers.
constexpr int outs_beside(int rows) { return rows == 1 ? 4 : 2; }

// One store a sum: an initialiser becomes a string instruction, whose start costs more than a short
// tile.
template <int kRows>
inline void clear(F8 (&sums)[kTileOuts][kRows]) {
#pragma GCC unroll 16
  for (int i = 0; i < kTileOuts * kRows; ++i) sums[i / kRows][i % kRows] = F8{};
}

template <class Row, int kOuts, int kRows>
inline void direct_tile(const ProductParams& p, int32_t out) {
  const int32_t n_in = p.weight->n_in;
  const int32_t span = Row::span(*p.weight);
  Row rows[kOuts];
  for (int o = 0; o < kOuts; ++o) rows[o] = Row(*p.weight, out + o);
  F8 sums[kTileOuts][kRows];
  clear<kRows>(sums);
  for (int32_t begin = 0; begin < n_in; begin += span) {
    const int32_t end = std::min(n_in, begin + span);
    typename Row::Header headers[kOuts];
    for (int o = 0; o < kOuts; ++o) headers[o] = rows[o].header(begin);
#pragma GCC unroll 2
    for (int32_t column = begin; column < end; column += kLanes) {
#pragma GCC unroll 4
      for (int o = 0; o < kOuts; ++o) {
        const F8 w = rows[o].values(headers[o], column);
#pragma GCC unroll 4
        for (int r = 0; r < kRows; ++r) {
          sums[o][r] = fma(w, load(p.x + static_cast<size_t>(r) * p.x_stride + column), sums[o][r]);
        }
      }
    }
  }
  for (int r = 0; r < kRows; ++r) {
    float* y = p.y + static_cast<size_t>(r) * p.y_stride + (out - p.out_begin);
    store_outs(sum_each(sums[0][r], sums[1][r], sums[2][r], sums[3][r]), y, kOuts);
  }
}

template <class Row, int kRows>
inline void direct_product(const ProductParams& p) {
  constexpr int32_t kOuts = outs_beside(kRows);
  int32_t out = p.out_begin;
  for (; out + kOuts <= p.out_end; out += kOuts) direct_tile<Row, kOuts, kRows>(p, out);
  for (; out < p.out_end; ++out) direct_tile<Row, 1, kRows>(p, out);
}

// Panel of columns [begin, end): [kPanelOuts / kTileOuts][columns / 8][kTileOuts][8]. Outputs from
// out_end on are zero.
template <class Row>
inline void decode_panel(const ProductParams& p, int32_t out, int32_t begin, int32_t end,
                         float* panel) {
  for (int32_t o = 0; o < kPanelOuts; ++o) {
    float* to = panel + (o / kTileOuts) * kTileOuts * (end - begin) + (o % kTileOuts) * kLanes;
    if (out + o >= p.out_end) {
      for (int32_t column = begin; column < end; column += kLanes)
        store(to + (column - begin) * kTileOuts, F8{});
      continue;
    }
    const Row row(*p.weight, out + o);
    for_columns(row, Row::span(*p.weight), begin, end, [&](const auto& header, int32_t column) {
      store(to + (column - begin) * kTileOuts, row.values(header, column));
    });
  }
}

struct PanelTile {
  const float* panel;  // of this tile's outputs
  const float* x;      // at the first row and column
  size_t x_stride;
  int32_t n_columns;
  float* carried;  // [kTileOuts * kTileRows, 8] sums between two panels of the same outputs
  bool is_first, is_last;
  float* y;  // of the first row and output
  size_t y_stride;
  int32_t n_outs;
};

template <int kRows>
inline void panel_tile(const PanelTile& t) {
  F8 sums[kTileOuts][kRows];
  if (t.is_first) {
    clear<kRows>(sums);
  } else {
#pragma GCC unroll 16
    for (int i = 0; i < kTileOuts * kRows; ++i)
      sums[i / kRows][i % kRows] = load(t.carried + i * kLanes);
  }
  const float* panel = t.panel;
  for (int32_t column = 0; column < t.n_columns; column += kLanes, panel += kTileOuts * kLanes) {
    F8 x[kRows];
#pragma GCC unroll 3
    for (int r = 0; r < kRows; ++r) x[r] = load(t.x + static_cast<size_t>(r) * t.x_stride + column);
#pragma GCC unroll 4
    for (int o = 0; o < kTileOuts; ++o) {
      const F8 w = load(panel + o * kLanes);
#pragma GCC unroll 3
      for (int r = 0; r < kRows; ++r) sums[o][r] = fma(w, x[r], sums[o][r]);
    }
  }
  if (!t.is_last) {
#pragma GCC unroll 16
    for (int i = 0; i < kTileOuts * kRows; ++i)
      store(t.carried + i * kLanes, sums[i / kRows][i % kRows]);
    return;
  }
  for (int r = 0; r < kRows; ++r) {
    store_outs(sum_each(sums[0][r], sums[1][r], sums[2][r], sums[3][r]),
               t.y + static_cast<size_t>(r) * t.y_stride, t.n_outs);
  }
}

// Rows of the next tile: never a single one after a full tile, since four sums do not fill the FMA
// units.
inline int32_t next_tile_rows(int32_t n_rows_left) {
  return n_rows_left == kTileRows + 1 ? 2 : std::min(n_rows_left, kTileRows);
}

template <class Row>
inline void panel_product(const ProductParams& p) {
  const int32_t n_in = p.weight->n_in;
  float* const panel = p.scratch;
  for (int32_t out = p.out_begin; out < p.out_end; out += kPanelOuts) {
    for (int32_t begin = 0; begin < n_in; begin += kPanelColumns) {
      const int32_t end = std::min(n_in, begin + kPanelColumns);
      decode_panel<Row>(p, out, begin, end, panel);
      float* carried = p.scratch + kPanelOuts * kPanelColumns;
      for (int32_t row = 0, n = 0; row < p.n_rows; row += n) {
        n = next_tile_rows(p.n_rows - row);
        for (int32_t o = out; o < std::min(p.out_end, out + kPanelOuts); o += kTileOuts) {
          const PanelTile tile{
              .panel = panel + (o - out) * (end - begin),
              .x = p.x + static_cast<size_t>(row) * p.x_stride + begin,
              .x_stride = p.x_stride,
              .n_columns = end - begin,
              .carried = carried,
              .is_first = begin == 0,
              .is_last = end == n_in,
              .y = p.y + static_cast<size_t>(row) * p.y_stride + (o - p.out_begin),
              .y_stride = p.y_stride,
              .n_outs = std::min(kTileOuts, p.out_end - o),
          };
          with_count<kTileRows>(n, [&](auto rows) { panel_tile<rows()>(tile); });
          carried += kTileOuts * n * kLanes;
        }
      }
    }
  }
}

template <class Row>
inline void product_of(const ProductParams& p) {
  if (p.n_rows > kRowsPerPass) {
    // Inputs of one pass stay in the second-level cache while all panels go over them.
    ProductParams part = p;
    for (int32_t row = 0; row < p.n_rows; row += kRowsPerPass) {
      part.x = p.x + static_cast<size_t>(row) * p.x_stride;
      part.y = p.y + static_cast<size_t>(row) * p.y_stride;
      part.n_rows = std::min(kRowsPerPass, p.n_rows - row);
      product_of<Row>(part);
    }
  } else if (p.n_rows > kDirectRowsMax) {
    panel_product<Row>(p);
  } else {
    with_count<kDirectRowsMax>(p.n_rows, [&](auto rows) { direct_product<Row, rows()>(p); });
  }
}

template <class Row>
inline void decode_row_of(const WeightView& weight, int32_t index, float* values) {
  const Row row(weight, index);
  for_columns(row, Row::span(weight), 0, weight.n_in, [&](const auto& header, int32_t column) {
    store(values + column, row.values(header, column));
  });
}

template <class Row>
constexpr FormatKernels kernels_for(WeightFormat format) {
  return {.format = format, .decode_row = decode_row_of<Row>, .product = product_of<Row>};
}

// The product table, in the order of the enumeration.
constexpr std::array<FormatKernels, kWeightFormatCount> kFormatKernels = {
    kernels_for<PlainRow<4, load_f32>>(WeightFormat::kF32),
    kernels_for<PlainRow<2, load_f16>>(WeightFormat::kF16),
    kernels_for<PlainRow<2, load_bf16<F8>>>(WeightFormat::kBF16),
    kernels_for<AffineRow<2>>(WeightFormat::kAffine2),
    kernels_for<AffineRow<3>>(WeightFormat::kAffine3),
    kernels_for<AffineRow<4>>(WeightFormat::kAffine4),
    kernels_for<AffineRow<5>>(WeightFormat::kAffine5),
    kernels_for<AffineRow<6>>(WeightFormat::kAffine6),
    kernels_for<AffineRow<8>>(WeightFormat::kAffine8),
    kernels_for<Fp8BlockRow>(WeightFormat::kFp8Block),
};

static_assert(is_in_order(kFormatKernels, &FormatKernels::format));

}  // namespace
}  // namespace slip::cpu
