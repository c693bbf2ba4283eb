#include "backend/cpu/cpu_products.h"

#include <algorithm>
#include <optional>

#include "backend/cpu/self_check.h"
#include "base/rng.h"
#include "tensor/dtype.h"

namespace slip::cpu {

namespace {

// Of the self-check. Sums of n float terms in two orders differ by some sqrt(n) 2^-24 of a term,
// 1e-5 of a result; a code in the wrong place moves it by 1 / sqrt(n), 1e-2 where n is 10,000.
constexpr double kProductFault = 1e-3;
constexpr int32_t kCheckedRows = 13;  // more than a tile of vectors, fewer than one of AMX

// Where the lane is off it does not matter which.
const PackedProducts& pick_order(const KernelTable& kernels, Lane& lane) {
  std::vector<std::string_view> names;
  for (const PackedProducts& order : kernels.packed) names.push_back(order.name);
  const size_t picked = lane.pick(names);
  const PackedProducts& order = kernels.packed[std::min(picked, names.size() - 1)];
  lane.set_class(order.rounds_inputs ? LaneClass::kRounding : LaneClass::kExact);
  return order;
}

bool has_same_shape(const WeightView& a, const WeightView& b) {
  return a.format == b.format && a.scale_type == b.scale_type && a.n_out == b.n_out &&
         a.n_in == b.n_in && a.group_size == b.group_size;
}

}  // namespace

CpuProducts::CpuProducts(const OpsStorage& storage, ThreadPool& pool, const KernelTable& kernels,
                         Lane& lane)
    : storage_(storage),
      pool_(pool),
      kernels_(kernels),
      lane_(lane),
      order_(pick_order(kernels, lane)) {}

void CpuProducts::pack(MatrixRef ref) {
  const WeightView& weight = storage_.matrix(ref);
  packed_.resize(std::max(packed_.size(), static_cast<size_t>(ref) + 1));
  if (!lane_.is_on()) return;
  Packed& packed = packed_[static_cast<size_t>(ref)];
  packed.kernel = order_.maybe_for(weight);
  if (packed.kernel == nullptr) return;
  packed.bytes = ByteBuffer(packed.kernel->packed_bytes(weight));
  pool_.run((weight.n_out + kPackedOuts - 1) / kPackedOuts,
            [&](int strip, int) { packed.kernel->pack_strip(weight, strip, packed.bytes.data()); });
  if (was_checked(weight)) return;
  const std::string fault = fault_of(ref);
  if (fault.empty()) return;
  lane_.retire(fault);
  for (Packed& other : packed_) other = {};
}

// True for a shape that was here before.
bool CpuProducts::was_checked(const WeightView& weight) {
  const bool was = std::ranges::any_of(
      checked_, [&](const WeightView& other) { return has_same_shape(weight, other); });
  if (!was) checked_.push_back(weight);
  return was;
}

// The first and the last strip by one row and by several. Inputs are BF16 numbers, so that kernels
// that round them are held to exact weights.
std::string CpuProducts::fault_of(MatrixRef ref) const {
  const WeightView& weight = storage_.matrix(ref);
  const auto n_in = static_cast<size_t>(weight.n_in);
  std::vector<float> x(kCheckedRows * n_in);
  for (size_t i = 0; i < x.size(); ++i) x[i] = to_float(to_bfloat16(normal(5, i, Draw::kTest)));
  const FloatBuffer scratch(scratch_floats(kCheckedRows));
  for (const int32_t n_rows : {1, kCheckedRows}) {
    const ByteBuffer prepared(input_bytes(n_rows, weight.n_in));
    const Inputs inputs{x.data(), n_in, n_rows, prepared.data()};
    for (int32_t r = 0; r < n_rows; ++r) prepare_row(inputs, weight.n_in, r);
    for (const int32_t begin : {0, (weight.n_out - 1) / kPackedOuts * kPackedOuts}) {
      const Range range{ref, begin, std::min(weight.n_out, begin + kPackedOuts)};
      const auto n_outs = static_cast<size_t>(range.end - range.begin);
      std::vector<float> found(static_cast<size_t>(n_rows) * n_outs), wanted(found.size());
      multiply(range, inputs, found.data(), n_outs, scratch.data());
      multiply_plain(range, inputs, wanted.data(), n_outs, scratch.data());
      const std::optional<size_t> at = first_difference(found, wanted, kProductFault);
      if (!at) continue;
      return std::string(slip::name(weight.format)) + " weights of " +
             std::to_string(weight.n_out) + " x " + std::to_string(weight.n_in) + ", of " +
             std::to_string(n_rows) + " rows output " +
             std::to_string(static_cast<size_t>(begin) + *at % n_outs) + " came out as " +
             std::to_string(found[*at]) + ", wanted " + std::to_string(wanted[*at]);
    }
  }
  return {};
}

std::string_view CpuProducts::kernel(MatrixRef ref) const {
  return is_packed(ref) ? order_.name : kPlainKernels;
}

LaneRefusal CpuProducts::why_plain(MatrixRef ref) const {
  const bool has_format = order_.maybe_for(storage_.matrix(ref), /*in_any_shape=*/true) != nullptr;
  return has_format ? LaneRefusal::kShape : LaneRefusal::kNoKernel;
}

void CpuProducts::count(std::span<const MatrixRef> refs, int32_t n_rows) {
  const auto plain = std::ranges::find_if(refs, [&](MatrixRef ref) { return !is_packed(ref); });
  if (plain != refs.end()) return lane_.count_refusal(why_plain(*plain));
  lane_.count_use({.n_rows = n_rows});
}

int64_t CpuProducts::packed_bytes() const {
  size_t sum = 0;
  for (const Packed& packed : packed_) sum += packed.bytes.n_bytes();
  return static_cast<int64_t>(sum);
}

size_t CpuProducts::input_bytes(int32_t n_rows, int32_t n_in) const {
  const size_t n_bytes = order_.input_bytes(n_rows, n_in);
  return whole_lines((n_bytes + sizeof(float) - 1) / sizeof(float)) * sizeof(float);
}

void CpuProducts::prepare_row(const Inputs& x, int32_t n_in, int32_t row) const {
  order_.prepare_row({.x = x.rows + static_cast<size_t>(row) * x.stride,
                      .n_in = n_in,
                      .row = row,
                      .n_rows = x.n_rows,
                      .inputs = x.prepared});
}

void CpuProducts::multiply(const Range& range, const Inputs& x, float* y, size_t y_stride,
                           float* scratch) const {
  const Packed* packed = maybe_packed(range.ref);
  if (packed == nullptr) return multiply_plain(range, x, y, y_stride, scratch);
  packed->kernel->product({.weight = &storage_.matrix(range.ref),
                           .packed = packed->bytes.data(),
                           .strip = range.begin / kPackedOuts,
                           .inputs = x.prepared,
                           .n_rows = x.n_rows,
                           .y = y,
                           .y_stride = y_stride,
                           .n_outs = range.end - range.begin,
                           .scratch = reinterpret_cast<std::byte*>(scratch)});
  lane_.corrupt(y);
}

void CpuProducts::multiply_plain(const Range& range, const Inputs& x, float* y, size_t y_stride,
                                 float* scratch) const {
  kernels_.product({.weight = &storage_.matrix(range.ref),
                    .out_begin = range.begin,
                    .out_end = range.end,
                    .x = x.rows,
                    .y = y,
                    .x_stride = x.stride,
                    .y_stride = y_stride,
                    .n_rows = x.n_rows,
                    .scratch = scratch});
}

size_t CpuProducts::scratch_floats(int32_t n_rows) const {
  return whole_lines(
      std::max(product_scratch_floats(n_rows), order_.scratch_bytes / sizeof(float)));
}

}  // namespace slip::cpu
