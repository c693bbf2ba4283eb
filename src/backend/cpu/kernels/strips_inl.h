// Weights in strips of 64 outputs, the form in which packed products read them: for each group of
// columns the codes, then the scales and the biases of the 64 outputs. A strip is one stream of
// memory. In which order the codes of a group lie is the kernel's own affair, its Codes:
//
//   kHasScale, kHasBias, get(row, column)   of the format: one of those below
//   code_bytes(n_columns)                   of the 64 outputs
//   put(group, column, out, code)           into a group of zeros
#pragma once

#include <algorithm>
#include <cstring>

#include "backend/cpu/kernels/table.h"
#include "tensor/quant.h"

namespace slip::cpu {
namespace {

constexpr int32_t kStripOuts = kPackedOuts;
constexpr int32_t kStepColumns = 32;  // of inputs that lie together; groups are multiples of it
constexpr int32_t kGroupColumnsMax = 128;

// Formats: what belongs to a group, and the code of a column in a row of the file.
struct Affine8Format {
  static constexpr bool kHasScale = true, kHasBias = true;
  static std::byte get(const std::byte* row, int32_t column) { return row[column]; }
};
struct Affine4Format {
  static constexpr bool kHasScale = true, kHasBias = true;
  static std::byte get(const std::byte* row, int32_t column) {
    return row[column / 2] >> (column % 2 * 4) & std::byte{0xF};
  }
};
struct E4M3Format {
  static constexpr bool kHasScale = true, kHasBias = false;
  static std::byte get(const std::byte* row, int32_t column) { return row[column]; }
};
struct BF16Format {
  static constexpr bool kHasScale = false, kHasBias = false;
  static uint16_t get(const std::byte* row, int32_t column) {
    uint16_t bits;
    std::memcpy(&bits, row + column * 2, sizeof bits);
    return bits;
  }
};

// Formats without scales have no groups, so any length will do.
inline int32_t group_columns(const WeightView& w) {
  return w.group_size > 0 ? w.group_size : kStepColumns;
}

inline bool can_pack(const WeightView& w) {
  const int32_t columns = group_columns(w);
  return columns % kStepColumns == 0 && columns <= kGroupColumnsMax && w.n_in % columns == 0;
}

inline size_t n_strips(const WeightView& w) {
  return static_cast<size_t>((w.n_out + kStripOuts - 1) / kStripOuts);
}

// Where things are in a strip.
template <class Codes>
struct StripLayout {
  explicit StripLayout(const WeightView& w)
      : n_columns(group_columns(w)),
        n_groups(static_cast<size_t>(w.n_in / n_columns)),
        code_bytes(Codes::code_bytes(n_columns)),
        scale_bytes(kStripOuts * (w.scale_type == DType::kBF16 ? sizeof(BFloat16) : sizeof(float))),
        group_bytes(code_bytes + (Codes::kHasScale + Codes::kHasBias) * scale_bytes),
        strip_bytes(n_groups * group_bytes) {}
  int32_t n_columns;  // of a group
  size_t n_groups;
  size_t code_bytes, scale_bytes, group_bytes, strip_bytes;
};

template <class Codes>
size_t strips_bytes(const WeightView& w) {
  return n_strips(w) * StripLayout<Codes>(w).strip_bytes;
}

// Column after column, so that what is written is one stream and what is read 64 of them.
template <class Codes>
void pack_strip(const WeightView& w, int32_t strip, std::byte* packed) {
  const StripLayout<Codes> layout(w);
  std::byte* group = packed + static_cast<size_t>(strip) * layout.strip_bytes;
  std::memset(group, 0, layout.strip_bytes);
  const DType type = w.scale_type == DType::kBF16 ? DType::kBF16 : DType::kF32;
  const int32_t begin = strip * kStripOuts;
  const int32_t n_outs = std::min(kStripOuts, w.n_out - begin);
  const size_t row_bytes = w.row_bytes();
  const std::byte* rows = w.data + static_cast<size_t>(begin) * row_bytes;
  for (size_t g = 0; g < layout.n_groups; ++g, group += layout.group_bytes) {
    const int32_t first = static_cast<int32_t>(g) * layout.n_columns;
    for (int32_t c = 0; c < layout.n_columns; ++c) {
      for (int32_t o = 0; o < n_outs; ++o)
        Codes::put(group, c, o, Codes::get(rows + static_cast<size_t>(o) * row_bytes, first + c));
    }
    if constexpr (Codes::kHasScale) {
      std::byte* scales = group + layout.code_bytes;
      for (int32_t o = 0; o < n_outs; ++o) {
        const int32_t scale_row = Codes::kHasBias ? begin + o : (begin + o) / kFp8BlockRows;
        const size_t index = static_cast<size_t>(scale_row) * layout.n_groups + g;
        const auto to = static_cast<size_t>(o);
        store_float(type, scales, to, load_float(w.scale_type, w.scales, index));
        if constexpr (Codes::kHasBias) {
          store_float(type, scales + layout.scale_bytes, to,
                      load_float(w.scale_type, w.biases, index));
        }
      }
    }
  }
}

}  // namespace
}  // namespace slip::cpu
