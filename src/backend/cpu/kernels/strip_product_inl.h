// y = W x with vectors of outputs, on weights in strips: an input is broadcast against a column of
// a strip, so a tile of rows reads the weights once and nothing is summed across lanes. Weights and
// inputs are exact. An element's terms are added column after column; every kSpanColumns of them
// are multiplied by their scale, and the bias by the sum of the inputs. So the order of additions
// does not depend on the rows.
//
// Up to kStripRows rows: codes become numbers in registers. More: a span of codes is converted into
// the first-level cache once for all tiles of rows. Cost of 64 columns by 64 outputs with 16 lanes:
// 128 FMA a row, and the conversion: some 400 cycles.
#pragma once

#include <algorithm>
#include <array>

#include "backend/cpu/kernels/product_inl.h"
#include "backend/cpu/kernels/simd.h"
#include "backend/cpu/kernels/strips_inl.h"
#include "backend/cpu/kernels/table.h"

namespace slip::cpu {
namespace {

constexpr int32_t kSpanColumnsMax = 64;  // whose terms meet before their scale
constexpr int32_t kStripRows = 6;        // of a tile
constexpr int32_t kStripChunkRows = 96;  // that share a converted span
constexpr int32_t kHalfOuts = kStripOuts / 2;
constexpr int32_t kPairs = kHalfOuts / kWideLanes;  // of vectors: outputs o and o + 32

// Pairs beside `rows` rows: sums, weights and a broadcast fill 16 or 32 registers.
constexpr int pairs_beside(int rows) { return kWideLanes == 16 || rows <= 2 ? 2 : 1; }

struct WidePair {
  Wide low, high;  // outputs from kWideLanes p on, and 32 further
};

// Codes of a strip: columns one behind the other, 64 outputs each.
template <size_t kBytes>
struct Columns {
  static constexpr size_t kColumnBytes = kBytes;
  static constexpr size_t code_bytes(int32_t n_columns) {
    return static_cast<size_t>(n_columns) * kColumnBytes;
  }
};

struct ByteColumns : Columns<kStripOuts> {
  static void put(std::byte* group, int32_t column, int32_t out, std::byte code) {
    group[column * kStripOuts + out] = code;
  }
};

struct ColumnCodes8 : Affine8Format, ByteColumns {
  static WidePair decode(const std::byte* column, int32_t pair) {
    column += pair * kWideLanes;
    return {__builtin_convertvector(widen_bytes<WideInts>(column), Wide),
            __builtin_convertvector(widen_bytes<WideInts>(column + kHalfOuts), Wide)};
  }
};

// Outputs o and o + 32 in the low and the high half of a byte.
struct ColumnCodes4 : Affine4Format, Columns<kStripOuts / 2> {
  static void put(std::byte* group, int32_t column, int32_t out, std::byte code) {
    group[column * kHalfOuts + out % kHalfOuts] |= code << (out / kHalfOuts * 4);
  }
  static WidePair decode(const std::byte* column, int32_t pair) {
    const WideInts codes = widen_bytes<WideInts>(column + pair * kWideLanes);
    return {__builtin_convertvector(codes & 0xF, Wide), __builtin_convertvector(codes >> 4, Wide)};
  }
};

struct ColumnE4M3 : E4M3Format, ByteColumns {
  static WidePair decode(const std::byte* column, int32_t pair) {
    column += pair * kWideLanes;
    return {load_e4m3<Wide>(column), load_e4m3<Wide>(column + kHalfOuts)};
  }
};

struct ColumnBF16 : BF16Format, Columns<kStripOuts * sizeof(BFloat16)> {
  static void put(std::byte* group, int32_t column, int32_t out, uint16_t bits) {
    std::memcpy(group + (column * kStripOuts + out) * 2, &bits, sizeof bits);
  }
  static WidePair decode(const std::byte* column, int32_t pair) {
    column += pair * kWideLanes * 2;
    return {load_bf16<Wide>(column), load_bf16<Wide>(column + kHalfOuts * 2)};
  }
};

// Rows of x as the kernel reads them: [n_in / 32, row, 32], then for each row the sums of 32
// columns.
inline size_t strip_input_bytes(int32_t n_rows, int32_t n_in) {
  const auto n_steps = static_cast<size_t>(n_in / kStepColumns);
  return static_cast<size_t>(n_rows) * n_steps * (kStepColumns + 1) * sizeof(float);
}

inline void strip_prepare_row(const PrepareParams& p) {
  const auto n_steps = static_cast<size_t>(p.n_in / kStepColumns);
  const auto row = static_cast<size_t>(p.row), n_rows = static_cast<size_t>(p.n_rows);
  auto* to = reinterpret_cast<float*>(p.inputs);
  float* sums = to + n_steps * n_rows * kStepColumns + row * n_steps;
  for (size_t step = 0; step < n_steps; ++step) {
    const float* x = p.x + step * kStepColumns;
    Wide total{};
    for (int32_t c = 0; c < kStepColumns; c += kWideLanes) total += load<Wide>(x + c);
    sums[step] = sum(total);
    std::copy_n(x, kStepColumns, to + (step * n_rows + row) * kStepColumns);
  }
}

struct StripScratch {
  alignas(64) float panel[kSpanColumnsMax][kStripOuts];
  alignas(64) float sums[kStripChunkRows][kStripOuts];
};

// Where a tile finds the numbers of a span: in its codes, or in the panel.
template <class Codes>
struct CodesOfSpan {
  static constexpr int32_t kAhead = 4096;  // the next strip follows this one
  const std::byte* codes;
  WidePair get(int32_t column, int32_t pair) const {
    const std::byte* at = codes + static_cast<size_t>(column) * Codes::kColumnBytes;
    if (pair == 0) __builtin_prefetch(at + kAhead);
    return Codes::decode(at, pair);
  }
};
struct PanelOfSpan {
  const float (*panel)[kStripOuts];
  WidePair get(int32_t column, int32_t pair) const {
    const float* at = panel[column] + pair * kWideLanes;
    return {load<Wide>(at), load<Wide>(at + kHalfOuts)};
  }
};

// The scales and biases of a group.
struct SpanScales {
  const std::byte* scales;
  const std::byte* biases;
  bool is_bf16;
  Wide at(const std::byte* from, int32_t out) const {
    return is_bf16 ? load_bf16<Wide>(from + out * 2) : load_as<Wide>(from + out * 4);
  }
};

// A tile of rows against a span.
struct TileOfRows {
  const float* x;  // [n_steps, ., 32], steps step_stride apart
  size_t step_stride;
  int32_t n_steps;
  const float* input_sums;  // of each row, rows sums_stride apart
  size_t sums_stride;
  float (*sums)[kStripOuts];  // of the tile's rows
};

inline float span_sum(const TileOfRows& t, int row) {
  const float* sums = t.input_sums + static_cast<size_t>(row) * t.sums_stride;
  float total = 0;
  for (int32_t i = 0; i < t.n_steps; ++i) total += sums[i];
  return total;
}

// sums += scale * (W x of the span) + bias * (sum of x)
template <class Codes, int kRows, int kCount>
inline void add_span(const WidePair (&products)[kCount][kRows], int32_t pair,
                     const SpanScales& scales, const TileOfRows& t) {
#pragma GCC unroll 2
  for (int p = 0; p < kCount; ++p) {
    for (int half = 0; half < 2; ++half) {
      const int32_t out = (pair + p) * kWideLanes + half * kHalfOuts;
      for (int r = 0; r < kRows; ++r) {
        const Wide product = half == 0 ? products[p][r].low : products[p][r].high;
        float* at = t.sums[r] + out;
        if constexpr (!Codes::kHasScale) {
          store(at, load<Wide>(at) + product);
        } else {
          Wide sum = fma(scales.at(scales.scales, out), product, load<Wide>(at));
          if constexpr (Codes::kHasBias)
            sum = fma(scales.at(scales.biases, out), splat<Wide>(span_sum(t, r)), sum);
          store(at, sum);
        }
      }
    }
  }
}

template <class Codes, int kRows, class Span>
inline void strip_tile(const Span& span, const SpanScales& scales, const TileOfRows& t) {
  constexpr int kCount = pairs_beside(kRows);
  for (int32_t pair = 0; pair < kPairs; pair += kCount) {
    WidePair products[kCount][kRows];
#pragma GCC unroll 12
    for (int i = 0; i < kCount * kRows; ++i) products[i / kRows][i % kRows] = WidePair{};
    const float* x = t.x;
    for (int32_t column = 0; column < t.n_steps * kStepColumns; x += t.step_stride) {
#pragma GCC unroll 2
      for (int32_t c = 0; c < kStepColumns; ++c, ++column) {
        WidePair w[kCount];
#pragma GCC unroll 2
        for (int p = 0; p < kCount; ++p) w[p] = span.get(column, pair + p);
#pragma GCC unroll 6
        for (int r = 0; r < kRows; ++r) {
          const Wide element = splat<Wide>(x[r * kStepColumns + c]);
#pragma GCC unroll 2
          for (int p = 0; p < kCount; ++p) {
            products[p][r].low = fma(w[p].low, element, products[p][r].low);
            products[p][r].high = fma(w[p].high, element, products[p][r].high);
          }
        }
      }
    }
    add_span<Codes>(products, pair, scales, t);
  }
}

template <class Codes>
class StripProduct {
 public:
  explicit StripProduct(const PackedParams& p)
      : p_(p),
        layout_(*p.weight),
        strip_(p.packed + static_cast<size_t>(p.strip) * layout_.strip_bytes),
        n_rows_(static_cast<size_t>(p.n_rows)),
        n_steps_(static_cast<size_t>(p.weight->n_in / kStepColumns)),
        inputs_(reinterpret_cast<const float*>(p.inputs)),
        s_(*reinterpret_cast<StripScratch*>(p.scratch)) {}

  void run() {
    for (int32_t row = 0; row < p_.n_rows; row += kStripChunkRows)
      run_chunk(row, std::min(kStripChunkRows, p_.n_rows - row));
  }

 private:
  void run_chunk(int32_t first_row, int32_t n_rows) {
    std::fill_n(s_.sums[0], n_rows * kStripOuts, 0.0f);
    const int32_t n_columns = std::min(layout_.n_columns, kSpanColumnsMax);
    for (size_t g = 0; g < layout_.n_groups; ++g) {
      const std::byte* group = strip_ + g * layout_.group_bytes;
      const std::byte* scales = group + layout_.code_bytes;
      const SpanScales span_scales{scales, scales + layout_.scale_bytes,
                                   p_.weight->scale_type == DType::kBF16};
      for (int32_t column = 0; column < layout_.n_columns; column += n_columns) {
        const CodesOfSpan<Codes> codes{group + Codes::code_bytes(column)};
        const size_t step =
            (g * static_cast<size_t>(layout_.n_columns) + static_cast<size_t>(column)) /
            kStepColumns;
        if (n_rows <= kStripRows) {
          run_tile(codes, span_scales, tile(first_row, 0, step, n_columns), n_rows);
          continue;
        }
        convert(codes, n_columns);
        for (int32_t row = 0, n = 0; row < n_rows; row += n) {
          n = even_rows(n_rows - row);
          run_tile(PanelOfSpan{s_.panel}, span_scales, tile(first_row, row, step, n_columns), n);
        }
      }
    }
    for (int32_t r = 0; r < n_rows; ++r)
      std::copy_n(s_.sums[r], p_.n_outs, p_.y + static_cast<size_t>(first_row + r) * p_.y_stride);
  }

  // Of the next tile: as even as can be, since a single row would not hide the latency of FMA.
  static int32_t even_rows(int32_t n_left) {
    const int32_t n_tiles = (n_left + kStripRows - 1) / kStripRows;
    return (n_left + n_tiles - 1) / n_tiles;
  }

  TileOfRows tile(int32_t first_row, int32_t row, size_t step, int32_t n_columns) {
    const auto at = static_cast<size_t>(first_row + row);
    const float* input_sums = inputs_ + n_steps_ * n_rows_ * kStepColumns;
    return {.x = inputs_ + (step * n_rows_ + at) * kStepColumns,
            .step_stride = n_rows_ * kStepColumns,
            .n_steps = n_columns / kStepColumns,
            .input_sums = input_sums + at * n_steps_ + step,
            .sums_stride = n_steps_,
            .sums = s_.sums + row};
  }

  template <class Span>
  static void run_tile(const Span& span, const SpanScales& scales, const TileOfRows& t, int32_t n) {
    with_count<kStripRows>(n, [&](auto rows) { strip_tile<Codes, rows()>(span, scales, t); });
  }

  void convert(const CodesOfSpan<Codes>& codes, int32_t n_columns) {
    for (int32_t c = 0; c < n_columns; ++c) {
#pragma GCC unroll 4
      for (int32_t pair = 0; pair < kPairs; ++pair) {
        const WidePair w = codes.get(c, pair);
        store(s_.panel[c] + pair * kWideLanes, w.low);
        store(s_.panel[c] + pair * kWideLanes + kHalfOuts, w.high);
      }
    }
  }

  const PackedParams& p_;
  StripLayout<Codes> layout_;
  const std::byte* strip_;
  size_t n_rows_, n_steps_;
  const float* inputs_;
  StripScratch& s_;
};

template <class Codes>
constexpr PackedProduct strip_product(WeightFormat format) {
  return {.format = format,
          .can = can_pack,
          .packed_bytes = strips_bytes<Codes>,
          .pack_strip = pack_strip<Codes>,
          .product = [](const PackedParams& p) { StripProduct<Codes>(p).run(); }};
}

constexpr PackedProduct kStripProducts[] = {strip_product<ColumnCodes8>(WeightFormat::kAffine8),
                                            strip_product<ColumnCodes4>(WeightFormat::kAffine4),
                                            strip_product<ColumnE4M3>(WeightFormat::kFp8Block),
                                            strip_product<ColumnBF16>(WeightFormat::kBF16)};

constexpr PackedProducts kPackedStrips{.name = "strips",
                                       .kernels = kStripProducts,
                                       .input_bytes = strip_input_bytes,
                                       .prepare_row = strip_prepare_row,
                                       .scratch_bytes = sizeof(StripScratch),
                                       .rounds_inputs = false};

}  // namespace
}  // namespace slip::cpu
