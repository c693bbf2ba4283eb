#include "backend/cuda/cuda_ops.h"

#include <algorithm>
#include <string>
#include <utility>

#include "backend/cuda/kernels/copy/copy.h"
#include "backend/cuda/kernels/delta_net/delta_net.h"
#include "backend/cuda/kernels/embed/embed.h"
#include "backend/cuda/kernels/norm/norm.h"
#include "backend/split_rule.h"
#include "base/check.h"
#include "base/error.h"

namespace slip::cuda {
namespace {

constexpr int32_t kSlabRows = kSegmentRowsMax;  // of attention, whose partial sums take room

size_t floats(int64_t a, int64_t b = 1, int64_t c = 1) { return static_cast<size_t>(a * b * c); }

void want(bool holds, const std::string& what, int32_t found, const std::string& wanted) {
  if (holds) return;
  throw Error(ErrorCode::kUnsupportedModel,
              what + " is " + std::to_string(found) + ", expected " + wanted + " on a GPU");
}

constexpr ProductEpilogue epilogue_of(Epilogue epilogue) {
  switch (epilogue) {
    case Epilogue::kSiluMul:
      return ProductEpilogue::kSiluMul;
    case Epilogue::kAddResidual:
      return ProductEpilogue::kAddResidual;
    default:
      return ProductEpilogue::kNone;
  }
}

}  // namespace

void check_widths(const ModelConfig& config) {
  const DeltaNetConfig& d = config.delta_net;
  const ExpertsConfig& e = config.experts;
  const int32_t head_dim = config.attention.head_dim;
  want(head_dim % 8 == 0 && head_dim <= 256, "head_dim", head_dim, "a multiple of 8 up to 256");
  want(d.key_dim % 8 == 0 && d.key_dim <= kKeyDimMax, "linear_key_head_dim", d.key_dim,
       "a multiple of 8 up to " + std::to_string(kKeyDimMax));
  want(d.value_dim % 8 == 0, "linear_value_head_dim", d.value_dim, "a multiple of 8");
  want(d.conv_kernel <= kConvKernelMax, "linear_conv_kernel_dim", d.conv_kernel,
       "at most " + std::to_string(kConvKernelMax));
  want(e.n_experts <= kExpertsMax, "num_experts", e.n_experts,
       "at most " + std::to_string(kExpertsMax));
  want(e.n_experts_per_token <= kExpertsPerTokenMax, "num_experts_per_tok", e.n_experts_per_token,
       "at most " + std::to_string(kExpertsPerTokenMax));
}

CudaOps::StepLayout::StepLayout(int32_t rows_max, int32_t segments_max)
    : tokens(sizeof(StepCounts)),
      rows(tokens + floats(rows_max) * sizeof(int32_t)),
      // Pointers are aligned to their size.
      segments((rows + floats(rows_max) * sizeof(RowData) + 7) / 8 * 8),
      n_bytes(segments + floats(segments_max) * sizeof(SegmentData)) {}

CudaOps::CudaOps(const ModelConfig& config, const OpsPlan& plan, const DeviceStates& states,
                 std::shared_ptr<Stream> stream)
    : config_(config),
      plan_(plan),
      states_(states),
      shared_stream_(std::move(stream)),
      stream_(*shared_stream_),
      weights_(stream_),
      step_layout_(plan.batch_rows_max, plan.states_max),
      step_(stream_, step_layout_.n_bytes),
      copies_(stream_,
              sizeof(int32_t) +
                  floats(std::max(plan.batch_rows_max, plan.hidden_rows_max)) * sizeof(RowPair)) {
  check_widths(config);
  for (int i = 0; i < kActCount; ++i) {
    const auto act = static_cast<Act>(i);
    acts_[static_cast<size_t>(i)] = DeviceMemory<float>(floats(act_rows(plan, act), stride(act)));
  }
  const int64_t rows = plan.batch_rows_max;
  normed_ = DeviceMemory<float>(floats(rows, config.hidden_size));

  const AttentionConfig& a = config.attention;
  frequencies_ = weights_.add(a.rope.frequencies);
  turns_ = DeviceMemory<float>(floats(rows, a.rotary_dims()));
  queries_ = DeviceMemory<float>(floats(rows, a.q_width()));
  const size_t n_partials = floats(plan.n_splits, kSlabRows, a.n_heads);
  sums_ = DeviceMemory<float>(n_partials * floats(a.head_dim));
  maxima_ = DeviceMemory<float>(n_partials);
  partial_weights_ = DeviceMemory<float>(n_partials);

  const DeltaNetConfig& d = config.delta_net;
  gates_ = DeviceMemory<float>(floats(rows, 2 * d.n_value_heads));
  read_ = DeviceMemory<float>(floats(rows, d.value_width()));

  const ExpertsConfig& e = config.experts;
  const int64_t n_chosen = rows * e.n_experts_per_token;
  router_ = DeviceMemory<float>(floats(rows, e.n_experts));
  chosen_ = DeviceMemory<int32_t>(floats(n_chosen));
  expert_weights_ = DeviceMemory<float>(floats(n_chosen));
  if (e.n_experts > 0) {
    shared_logits_ = DeviceMemory<float>(floats(rows));
    expert_hidden_ =
        DeviceMemory<float>(floats(rows, e.n_experts_per_token + 1,
                                   std::max(e.intermediate_size, e.shared_intermediate_size)));
  }
  host_rows_ = PinnedMemory<float>(
      std::max(acts_[static_cast<size_t>(Act::kLogits)].size(), floats(config.hidden_size)));
}

int64_t CudaOps::workspace_bytes() const {
  size_t sum = chosen_.n_bytes();
  for (const DeviceMemory<float>& act : acts_) sum += act.n_bytes();
  for (const DeviceMemory<float>* memory :
       {&normed_, &turns_, &queries_, &sums_, &maxima_, &partial_weights_, &gates_, &read_,
        &router_, &expert_weights_, &expert_hidden_, &shared_logits_})
    sum += memory->n_bytes();
  return static_cast<int64_t>(sum) + step_.n_bytes() + copies_.n_bytes();
}

StepView CudaOps::step() const {
  const std::byte* data = step_.device();
  return {.counts = reinterpret_cast<const StepCounts*>(data),
          .tokens = reinterpret_cast<const int32_t*>(data + step_layout_.tokens),
          .rows = reinterpret_cast<const RowData*>(data + step_layout_.rows),
          .segments = reinterpret_cast<const SegmentData*>(data + step_layout_.segments)};
}

void CudaOps::begin(const Pass& pass) {
  SLIP_CHECK(pass.n_rows() <= plan_.batch_rows_max);
  SLIP_CHECK(pass.segments.size() <= static_cast<size_t>(plan_.states_max));
  std::byte* data = step_.begin();
  *reinterpret_cast<StepCounts*>(data) = {pass.n_rows(),
                                          static_cast<int32_t>(pass.segments.size())};
  auto* tokens = reinterpret_cast<int32_t*>(data + step_layout_.tokens);
  auto* rows = reinterpret_cast<RowData*>(data + step_layout_.rows);
  auto* segments = reinterpret_cast<SegmentData*>(data + step_layout_.segments);
  std::ranges::transform(pass.tokens, tokens, [](TokenId id) { return static_cast<int32_t>(id); });
  int32_t row = 0;
  for (size_t i = 0; i < pass.segments.size(); ++i) {
    const PassSegment& s = pass.segments[i];
    SegmentData& segment = segments[i] = states_.addresses(s.state);
    segment.first_row = row;
    segment.n_rows = s.n_rows;
    segment.n_certain = s.n_certain;
    segment.n_fold = s.n_fold;
    segment.position = s.position;
    for (int32_t position = s.position; position < s.position + s.n_rows; ++position)
      rows[row++] = {static_cast<int32_t>(i), position, split_tokens(position, plan_.n_splits)};
  }
  SLIP_CHECK(row == pass.n_rows());
  step_.send(step_layout_.n_bytes);
  turn_rows(stream_,
            {.step = step(),
             .frequencies = weights_.vector(frequencies_),
             .n_pairs = config_.attention.rotary_dims() / 2,
             .magnitude = config_.attention.rope.magnitude,
             .turns = turns_.data()},
            pass.n_rows());
}

std::span<const float> CudaOps::read(Act act, int32_t first_row, int32_t n_rows) {
  SLIP_CHECK(first_row >= 0 && first_row + n_rows <= act_rows(plan_, act));
  const size_t n = floats(n_rows, stride(act));
  SLIP_CHECK(n <= host_rows_.size());
  stream_.to_host(host_rows_.data(), row(act, first_row), n * sizeof(float));
  stream_.wait();
  return {host_rows_.data(), n};
}

void CudaOps::write(Act act, int32_t index, std::span<const float> values) {
  SLIP_CHECK(index >= 0 && index < act_rows(plan_, act));
  SLIP_CHECK(values.size() == floats(stride(act)));
  stream_.to_device(row(act, index), values.data(), values.size_bytes());
  stream_.wait();
}

void CudaOps::embed(const Pass& pass, MatrixRef table, Act out) {
  cuda::embed(stream_, {.step = step(), .table = weights_.matrix(table), .out = row(out, 0)},
              pass.n_rows());
}

void CudaOps::normalise(const float* x, VectorRef weight, const int32_t* n_rows, int32_t n_rows_max,
                        float* y, int64_t y_stride) {
  cuda::norm(stream_,
             {.n_rows = n_rows,
              .x = x,
              .weight = weights_.vector(weight),
              .y = y,
              .dim = config_.hidden_size,
              .x_stride = config_.hidden_size,
              .y_stride = y_stride,
              .eps = config_.rms_norm_eps},
             n_rows_max);
}

void CudaOps::norm(const Pass& pass, const NormArgs& args) {
  SLIP_CHECK(stride(args.x) == config_.hidden_size);
  normalise(row(args.x, 0), args.weight, n_rows(), pass.n_rows(),
            row(args.out, 0) + args.out_column, stride(args.out));
}

void CudaOps::multiply(ProductParams params, std::span<const MatrixRef> weights,
                       int32_t n_rows_max) {
  SLIP_CHECK(!weights.empty() && weights.size() <= kWeightsMax);
  for (size_t i = 0; i < weights.size(); ++i) params.weights[i] = weights_.matrix(weights[i]);
  params.n_weights = static_cast<int32_t>(weights.size());
  multiply_plain(stream_, params, n_rows_max);
}

// Selected rows are as many as were copied there.
void CudaOps::project(const ProjectArgs& args) {
  SLIP_CHECK(args.x != args.out && args.n_rows <= act_rows(plan_, args.out));
  const bool is_selected = args.x == Act::kSelected;
  SLIP_CHECK(!is_selected || args.n_rows == n_copies_);
  const auto* count = is_selected ? reinterpret_cast<const int32_t*>(copies_.device()) : n_rows();
  const float* x = row(args.x, 0);
  int64_t x_stride = stride(args.x);
  if (args.norm != VectorRef::kNone) {
    normalise(x, args.norm, count, args.n_rows, normed_.data(), config_.hidden_size);
    x = normed_.data();
    x_stride = config_.hidden_size;
  }
  multiply({.n_rows = count,
            .x = x,
            .x_stride = x_stride,
            .epilogue = epilogue_of(args.epilogue),
            .bias = weights_.vector(args.bias),
            .out = row(args.out, 0) + args.out_column,
            .out_stride = stride(args.out)},
           args.weights, args.n_rows);
}

AttentionParams CudaOps::attention_params(const AttentionArgs& args) const {
  const AttentionConfig& a = config_.attention;
  return {.step = step(),
          .cache = states_.layout().cache,
          .kv_layer = args.kv_layer,
          .n_heads = a.n_heads,
          .query_stride = a.query_stride(),
          .eps = config_.rms_norm_eps,
          .q_norm = weights_.vector(args.q_norm),
          .k_norm = weights_.vector(args.k_norm),
          .turns = turns_.data(),
          .n_pairs = a.rotary_dims() / 2,
          .projected = row(Act::kProjected, 0),
          .projected_stride = stride(Act::kProjected),
          .queries = queries_.data(),
          .sums = sums_.data(),
          .maxima = maxima_.data(),
          .weights = partial_weights_.data(),
          .n_splits = plan_.n_splits,
          .mixed = row(Act::kMixed, 0),
          .mixed_stride = stride(Act::kMixed)};
}

void CudaOps::attention(const Pass& pass, const AttentionArgs& args) {
  AttentionParams params = attention_params(args);
  append(stream_, params, pass.n_rows());
  if (args.append_only) return;
  for (int32_t row = 0; row < pass.n_rows(); row += kSlabRows) {
    params.first_row = row;
    params.slab_rows = std::min(kSlabRows, pass.n_rows() - row);
    attend_plain(stream_, params);
    merge_splits(stream_, params);
  }
}

void CudaOps::delta_net(const Pass& pass, const DeltaNetArgs& args) {
  const DeltaNetConfig& d = config_.delta_net;
  const DeviceStateLayout& layout = states_.layout();
  cuda::delta_net(stream_,
                  {.step = step(),
                   .n_key_heads = d.n_key_heads,
                   .n_value_heads = d.n_value_heads,
                   .key_dim = d.key_dim,
                   .value_dim = d.value_dim,
                   .conv_kernel = d.conv_kernel,
                   .eps = config_.rms_norm_eps,
                   .projected = row(Act::kProjected, 0),
                   .projected_stride = stride(Act::kProjected),
                   .taps = weights_.vector(args.conv),
                   .a_log = weights_.vector(args.a_log),
                   .dt_bias = weights_.vector(args.dt_bias),
                   .norm = weights_.vector(args.norm),
                   .recurrent_offset = args.recurrent_layer * layout.recurrent_floats,
                   .conv_offset = args.recurrent_layer * layout.conv_floats,
                   .kept_offset = args.recurrent_layer * layout.kept_floats,
                   .gates = gates_.data(),
                   .read = read_.data(),
                   .mixed = row(Act::kMixed, 0),
                   .mixed_stride = stride(Act::kMixed)},
                  pass.n_rows(), static_cast<int32_t>(pass.segments.size()));
}

void CudaOps::experts(const Pass& pass, const ExpertsArgs& args) {
  const ExpertsConfig& e = config_.experts;
  const int32_t n = pass.n_rows();
  normalise(row(Act::kResidual, 0), args.norm, n_rows(), n, normed_.data(), config_.hidden_size);
  const auto logits = [&](MatrixRef matrix, const DeviceMemory<float>& out, int32_t width) {
    multiply({.n_rows = n_rows(),
              .x = normed_.data(),
              .x_stride = config_.hidden_size,
              .out = out.data(),
              .out_stride = width},
             {&matrix, 1}, n);
  };
  logits(args.router, router_, e.n_experts);
  const bool has_shared = args.shared_gate != MatrixRef::kNone;
  if (has_shared) logits(args.shared_gate, shared_logits_, 1);
  route(stream_,
        {.n_rows = n_rows(),
         .logits = router_.data(),
         .n_experts = e.n_experts,
         .n_per_token = e.n_experts_per_token,
         .renormalise = e.renormalise,
         .chosen = chosen_.data(),
         .weights = expert_weights_.data()},
        n);
  experts_plain(stream_,
                {.n_rows = n_rows(),
                 .experts = weights_.experts(args.experts),
                 .n_experts = e.n_experts,
                 .n_per_token = e.n_experts_per_token,
                 .chosen = chosen_.data(),
                 .weights = expert_weights_.data(),
                 .shared_logits = has_shared ? shared_logits_.data() : nullptr,
                 .x = normed_.data(),
                 .width = config_.hidden_size,
                 .hidden = expert_hidden_.data(),
                 .hidden_width = std::max(e.intermediate_size, e.shared_intermediate_size),
                 .residual = row(Act::kResidual, 0)},
                n);
}

void CudaOps::copy_rows(Act from, Act to, std::span<const RowCopy> copies) {
  SLIP_CHECK(stride(from) == stride(to));
  n_copies_ = static_cast<int32_t>(copies.size());
  if (copies.empty()) return;
  std::byte* data = copies_.begin();
  *reinterpret_cast<int32_t*>(data) = n_copies_;
  auto* pairs = reinterpret_cast<RowPair*>(data + sizeof(int32_t));
  for (const RowCopy& copy : copies) {
    SLIP_CHECK(copy.from < act_rows(plan_, from) && copy.to < act_rows(plan_, to));
    *pairs++ = {copy.from, copy.to};
  }
  copies_.send(sizeof(int32_t) + copies.size() * sizeof(RowPair));
  cuda::copy_rows(stream_,
                  {.n_pairs = reinterpret_cast<const int32_t*>(copies_.device()),
                   .pairs = reinterpret_cast<const RowPair*>(copies_.device() + sizeof(int32_t)),
                   .from = row(from, 0),
                   .to = row(to, 0),
                   .width = static_cast<int32_t>(stride(from))},
                  n_copies_);
}

}  // namespace slip::cuda
