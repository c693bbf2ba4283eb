// The CPU kernels as one table of functions per instruction set, chosen once at load. Most kernel
// sources are portable (GCC vectors, *_inl.h) and compiled once for each row of the table.
//
// Every kernel computes an output element in an order that does not depend on the other rows of the
// call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "backend/cpu/kernels/kv_plane.h"
#include "base/cpu_features.h"
#include "tensor/quant.h"

namespace slip::cpu {

inline constexpr int32_t kLanes = 8;             // floats in a vector, whatever the instruction set
inline constexpr int32_t kColumnsPerStrip = 32;  // of a recurrent state

// y[r, o - out_begin] = sum over i of W[o, i] x[r, i] for o in [out_begin, out_end).
// Sums run in kLanes lanes (lane i mod 8, ascending) that a fixed tree adds at the end.
struct ProductParams {
  const WeightView* weight;  // n_in a multiple of 8, group_size too
  int32_t out_begin, out_end;
  const float* x;  // [n_rows, n_in], rows x_stride apart
  float* y;        // [n_rows, out_end - out_begin], rows y_stride apart, no alias of x
  size_t x_stride, y_stride;
  int32_t n_rows;
  float* scratch;  // [product_scratch_floats(n_rows)]
};
inline constexpr int32_t kPanelOuts = 8;  // outputs converted at a time when there are many rows,
inline constexpr int32_t kPanelColumns =
    512;  // this many columns of them: half of a 32 KiB first-level cache
constexpr size_t product_scratch_floats(int32_t n_rows) {
  return static_cast<size_t>(kPanelOuts) * static_cast<size_t>(kPanelColumns + n_rows * kLanes);
}

// Products on weights that were put in another order at load, in strips of outputs.
inline constexpr int32_t kPackedOuts = 64;

// One row of x on its way to the order in which packed products read it.
struct PrepareParams {
  const float* x;  // [n_in]
  int32_t n_in;    // a multiple of 32
  int32_t row, n_rows;
  std::byte* inputs;  // [input_bytes(n_rows, n_in)] of all rows, on a cache line
};

// y[r, o - 64 strip] = sum over i of W[o, i] x[r, i] for the outputs of a strip.
struct PackedParams {
  const WeightView* weight;
  const std::byte* packed;  // of the whole matrix
  int32_t strip;
  const std::byte* inputs;  // of all rows
  int32_t n_rows;
  float* y;  // [n_rows, n_outs], rows y_stride apart
  size_t y_stride;
  int32_t n_outs;      // of the strip, [1, 64]
  std::byte* scratch;  // [packed_scratch_bytes], on a cache line
};

struct PackedProduct {
  WeightFormat format;
  bool (*can)(const WeightView& weight);
  size_t (*packed_bytes)(const WeightView& weight);
  // Strips are independent of each other.
  void (*pack_strip)(const WeightView& weight, int32_t strip, std::byte* packed);
  void (*product)(const PackedParams&);
};

// Packed products that read their inputs in the same order.
struct PackedProducts {
  std::string_view name;
  std::span<const PackedProduct> kernels;
  size_t (*input_bytes)(int32_t n_rows, int32_t n_in);
  void (*prepare_row)(const PrepareParams&);
  size_t scratch_bytes;
  bool rounds_inputs;  // to BF16, on the way to the kernel's order

  // Null where there is none for the format, and, unless `in_any_shape`, where it cannot the sizes.
  const PackedProduct* maybe_for(const WeightView& weight, bool in_any_shape = false) const;
};

// y = x / sqrt(mean(x^2) + eps) * weight. dim is a multiple of 8; y may be x.
struct RmsNormParams {
  const float* x;
  const float* weight;
  float* y;
  int32_t dim;
  float eps;
};

// One query or key head: RMS norm if it has a weight, rotation of the leading rotary_dims by
// (cos, sin), then times scale.
struct HeadParams {
  RmsNormParams norm;  // y does not alias x; weight null: y = x
  const float* cos;    // [rotary_dims / 2]
  const float* sin;
  int32_t rotary_dims;
  float scale;
};

// Tokens [begin, end) of one KV head's cache; both multiples of 64.
struct CacheRange {
  const std::byte* const* blocks = nullptr;  // of the sequence
  size_t key_offset = 0;                     // in a block, bytes: a plane in the kernel's format
  size_t value_offset = 0;                   // as key_offset
  int32_t begin = 0, end = 0;
};

// The part of causal attention that lies in one range of the cache: unnormalised sums with their
// maximum. Rows whose position is below the range are left alone. No byte of the cache above a
// row's position influences it.
struct AttentionParams {
  const float* q;  // [n_rows * group, head_dim], scaled
  CacheRange cache;
  CacheRange next;   // what this thread will probably read after this: a hint; may be empty
  int32_t head_dim;  // one that the kernel can
  int32_t group;     // query heads of this KV head
  int32_t position;  // of row 0
  int32_t n_rows;    // at most 32
  float* sums;       // [n_rows * group, head_dim] of exp(score - maximum) * v
  float* maxima;     // [n_rows * group]
  float* weights;    // [n_rows * group] sums of exp(score - maximum)
  float* scratch;    // [scratch_floats(n_rows * group, head_dim)], on a cache line
};

// One token's key or value on its way into the cache.
struct AppendParams {
  const float* x;    // [head_dim]
  std::byte* plane;  // of the token's block
  int32_t token;     // [0, 64)
  int32_t head_dim;
  const KvPlane* layout;
};

// One way to attend: the cache that it reads, and what it can.
struct AttentionKernel {
  std::string_view name;
  DType type;             // elements of the cache
  int32_t head_dim_step;  // head dims are multiples of this
  KvPlane (*keys)(int32_t head_dim);
  KvPlane (*values)(int32_t head_dim);
  void (*append)(const AppendParams&);
  size_t (*scratch_floats)(int32_t n_packed_rows, int32_t head_dim);
  void (*attend)(const AttentionParams&);

  bool can(DType wanted, int32_t head_dim) const {
    return type == wanted && head_dim % head_dim_step == 0;
  }
  KvFormat format(int32_t head_dim) const { return {type, keys(head_dim), values(head_dim)}; }
};

// One query head of one row: its splits in ascending order become the answer, times sigmoid(gate)
// if there is a gate.
struct MergeParams {
  const float* sums;     // split s at s * sums_stride, [head_dim]
  const float* maxima;   // split s at s * stats_stride
  const float* weights;  // as maxima
  size_t sums_stride, stats_stride;
  int32_t n_splits;
  int32_t head_dim;
  const float* gate;  // [head_dim], or null
  float* out;         // [head_dim]
};

// out[r, c] = silu(sum over j of taps[j, channel + c] * inputs[r + j][channel + c]).
struct ConvParams {
  const float* const* inputs;  // [n_rows + n_taps - 1] rows, oldest first
  const float* taps;           // [n_taps, taps_stride], the last one multiplies the row itself
  size_t taps_stride;
  int32_t n_taps;
  int32_t channel;
  int32_t n_channels;  // multiple of 8
  int32_t n_rows;
  float* out;  // [n_rows, n_channels]
};

// The gated delta rule on 32 value columns: for each row
//   S = decay S + k (x) beta (v - decay S^T k),   out = S^T q.
struct DeltaParams {
  float* state;    // [key_dim, 32], updated
  const float* q;  // [n_rows, key_dim], normalised; unread where out is null
  const float* k;
  const float* v;      // [n_rows, 32], rows v_stride apart
  const float* decay;  // [n_rows]
  const float* beta;   // [n_rows]
  float*
      out;  // [n_rows, 32], rows out_stride apart; null: only the state is wanted, with the same bits
  size_t v_stride, out_stride;
  int32_t key_dim;  // multiple of 8
  int32_t n_rows;
};

// What a weight format needs: a row of the product table.
struct FormatKernels {
  WeightFormat format;
  void (*decode_row)(const WeightView& weight, int32_t row, float* values);  // [n_in]
  void (*product)(const ProductParams&);
};

struct KernelTable {
  std::string_view name;
  bool (*supports)(const CpuFeatures&);

  std::span<const FormatKernels, kWeightFormatCount> formats;  // by WeightFormat
  std::span<const PackedProducts> packed;                      // best first; every table has one
  void (*rms_norm)(const RmsNormParams&);
  void (*silu_mul)(const float* gate, const float* up, float* out,
                   int32_t n);                         // out = silu(gate) * up
  void (*add)(const float* x, float* out, int32_t n);  // out += x
  // out += scale * x; n is a multiple of 8
  void (*add_scaled)(const float* x, float scale, float* out, int32_t n);
  void (*prepare_head)(const HeadParams&);
  std::span<const AttentionKernel> attention;  // best first
  void (*merge)(const MergeParams&);
  void (*convolve)(const ConvParams&);
  void (*l2_normalize)(float* x, int32_t dim, float scale);  // x *= scale / sqrt(sum(x^2) + 1e-6)
  void (*delta)(const DeltaParams&);
  // x = rms_norm(x) * weight * silu(z), over norm.dim values
  void (*gated_norm)(const RmsNormParams& norm, const float* z);
  // Keeps the fastest unit for products busy, from registers, for about a millisecond. Returns the
  // floating-point operations that it did.
  double (*exercise)();

  // The best one for such a cache; every table has one for every type and multiple of 16.
  const AttentionKernel& attention_for(DType type, int32_t head_dim) const;
  // The best one that reads a cache in this format, which one of them has.
  const AttentionKernel& attention_on(const KvFormat& format, int32_t head_dim) const;

  void product(const ProductParams& p) const { of(*p.weight).product(p); }
  void decode_row(const WeightView& weight, int32_t row, float* values) const {
    of(weight).decode_row(weight, row, values);
  }

 private:
  const FormatKernels& of(const WeightView& weight) const {
    return formats[static_cast<size_t>(weight.format)];
  }
};

// The best table for this machine, or the one called `forced_name` where that is not empty.
// Throws Error{kInvalidArgument} listing the usable names when there is none of that name or it
// cannot run here.
const KernelTable& choose(const CpuFeatures& features, std::string_view forced_name);

// All tables, best first. The last one runs everywhere.
std::span<const KernelTable* const> kernel_tables();

}  // namespace slip::cpu
