#include "backend/cpu/cpu_ops.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"

namespace slip::cpu {
namespace {

constexpr int32_t kRowsInline = 8;  // fewer rows of elementwise work cost less than waking the pool
constexpr int32_t kItemsPerThread = 4;  // evens out threads of unequal speed
constexpr size_t kWeightsMax = 4;       // of one project

template <class Body>
void for_rows(ThreadPool& pool, int32_t n_rows, Body&& body) {
  if (n_rows >= kRowsInline) {
    pool.run(n_rows, [&](int row, int) { body(row); });
  } else {
    for (int32_t row = 0; row < n_rows; ++row) body(row);
  }
}

size_t rows_max(const OpsPlan& plan) {
  return static_cast<size_t>(std::max(plan.batch_rows_max, plan.logit_rows_max));
}

// Of the places that project() reads, the widest.
int32_t input_width_max(const ModelConfig& config) {
  int32_t width = 0;
  for (const Act act : {Act::kResidual, Act::kMixed, Act::kFfn, Act::kFusion})
    width = std::max(width, act_width(config, act));
  return width;
}

}  // namespace

CpuOps::CpuOps(const ModelConfig& config, const StateLayout& layout,
               std::span<SequenceState> states, const OpsPlan& plan, ThreadPool& pool,
               const KernelTable& kernels, Lanes lanes)
    : OpsStorage(config, layout, states, plan),
      pool_(pool),
      kernels_(kernels),
      lanes_(std::move(lanes)),
      products_(*this, pool, kernels, lanes_.product),
      product_floats_(products_.scratch_floats(static_cast<int32_t>(rows_max(plan)))),
      outputs_floats_(rows_max(plan) * CpuProducts::kOutsPerItem),
      scratch_(static_cast<size_t>(pool.n_threads()) * (product_floats_ + 2 * outputs_floats_)),
      normed_(rows_max(plan) * static_cast<size_t>(config.hidden_size)),
      inputs_(products_.input_bytes(static_cast<int32_t>(rows_max(plan)), input_width_max(config))),
      attention_(*this, pool, kernels, lanes_.attention),
      delta_net_(*this, pool, kernels),
      experts_(*this, pool, kernels, products_) {}

void CpuOps::embed(const Pass& pass, MatrixRef table, Act out) {
  check_pass(pass);
  const WeightView& weight = matrix(table);
  SLIP_CHECK(static_cast<size_t>(weight.n_in) <= stride(out));
  for_rows(pool_, pass.n_rows(), [&](int32_t r) {
    const auto token = static_cast<int32_t>(pass.tokens[static_cast<size_t>(r)]);
    kernels_.decode_row(weight, token, row(out, r));
  });
}

void CpuOps::norm(const Pass& pass, const NormArgs& args) {
  check_pass(pass);
  SLIP_CHECK(static_cast<size_t>(args.out_column + config().hidden_size) <= stride(args.out));
  for_rows(pool_, pass.n_rows(), [&](int32_t r) {
    kernels_.rms_norm({.x = row(args.x, r),
                       .weight = vector(args.weight).data(),
                       .y = row(args.out, r) + args.out_column,
                       .dim = config().hidden_size,
                       .eps = config().rms_norm_eps});
  });
}

CpuProducts::Inputs CpuOps::inputs_of(const ProjectArgs& args) {
  CpuProducts::Inputs x{act(args.x), stride(args.x), args.n_rows, inputs_.data()};
  const bool is_normed = args.norm != VectorRef::kNone;
  const bool any_packed = products_.any_packed(args.weights);
  if (is_normed) {
    x.rows = normed_.data();
    x.stride = static_cast<size_t>(config().hidden_size);
  }
  if (!is_normed && !any_packed) return x;
  const int32_t n_in = matrix(args.weights[0]).n_in;
  for_rows(pool_, args.n_rows, [&](int32_t r) {
    if (is_normed) {
      kernels_.rms_norm({.x = row(args.x, r),
                         .weight = vector(args.norm).data(),
                         .y = normed_.data() + static_cast<size_t>(r) * x.stride,
                         .dim = n_in,
                         .eps = config().rms_norm_eps});
    }
    if (any_packed) products_.prepare_row(x, n_in, r);
  });
  return x;
}

void CpuOps::project(const ProjectArgs& args) {
  check_project(args);
  if (args.n_rows == 0) return;
  // The second matrix of kSiluMul is walked together with the first.
  const size_t n_walked = args.epilogue == Epilogue::kSiluMul ? 1 : args.weights.size();
  SLIP_CHECK(n_walked <= kWeightsMax);
  int32_t n_outs = 0;
  for (size_t i = 0; i < n_walked; ++i) n_outs += matrix(args.weights[i]).n_out;
  const int32_t even = n_outs / (kItemsPerThread * pool_.n_threads()) / kPanelOuts * kPanelOuts;
  const int32_t outs_per_item = products_.any_packed(args.weights)
                                    ? CpuProducts::kOutsPerItem
                                    : std::clamp(even, kPanelOuts, CpuProducts::kOutsPerItem);

  std::array<int32_t, kWeightsMax + 1> item_begin{};  // of each matrix
  for (size_t i = 0; i < n_walked; ++i) {
    item_begin[i + 1] =
        item_begin[i] + (matrix(args.weights[i]).n_out + outs_per_item - 1) / outs_per_item;
  }
  products_.count(args.weights, args.n_rows);
  const CpuProducts::Inputs x = inputs_of(args);
  pool_.run(item_begin[n_walked], [&](int item, int thread) {
    OutRange range{.weight = 0, .begin = 0, .end = 0, .column = args.out_column};
    for (; item >= item_begin[range.weight + 1]; ++range.weight)
      range.column += matrix(args.weights[range.weight]).n_out;
    range.begin = (item - item_begin[range.weight]) * outs_per_item;
    range.end = std::min(range.begin + outs_per_item, matrix(args.weights[range.weight]).n_out);
    project_range(args, x, range, thread);
  });
}

void CpuOps::project_range(const ProjectArgs& args, const CpuProducts::Inputs& x, OutRange range,
                           int thread) {
  constexpr size_t kWaitingStride = CpuProducts::kOutsPerItem;
  float* scratch =
      scratch_.data() + static_cast<size_t>(thread) * (product_floats_ + 2 * outputs_floats_);
  float* first = scratch + product_floats_;
  float* second = first + outputs_floats_;
  const int32_t n_outs = range.end - range.begin;
  const auto multiply = [&](size_t weight, float* y, size_t y_stride) {
    products_.multiply({args.weights[weight], range.begin, range.end}, x, y, y_stride, scratch);
  };
  float* out = act(args.out) + range.column + range.begin;
  if (args.epilogue == Epilogue::kNone) {
    multiply(range.weight, out, stride(args.out));
    if (args.bias == VectorRef::kNone) return;
    const float* bias = vector(args.bias).data() + range.column - args.out_column + range.begin;
    for (int32_t r = 0; r < args.n_rows; ++r, out += stride(args.out))
      kernels_.add(bias, out, n_outs);
    return;
  }

  multiply(range.weight, first, kWaitingStride);
  if (args.epilogue == Epilogue::kSiluMul) multiply(range.weight + 1, second, kWaitingStride);
  for (int32_t r = 0; r < args.n_rows;
       ++r, out += stride(args.out), first += kWaitingStride, second += kWaitingStride) {
    if (args.epilogue == Epilogue::kSiluMul) {
      kernels_.silu_mul(first, second, out, n_outs);
    } else {
      kernels_.add(first, out, n_outs);
    }
  }
}

int64_t CpuOps::workspace_bytes() const {
  return OpsStorage::workspace_bytes() +
         static_cast<int64_t>(scratch_.n_bytes() + normed_.n_bytes() + inputs_.n_bytes()) +
         attention_.workspace_bytes() + delta_net_.workspace_bytes() + experts_.workspace_bytes();
}

}  // namespace slip::cpu
