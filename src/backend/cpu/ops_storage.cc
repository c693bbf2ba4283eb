#include "backend/cpu/ops_storage.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "base/error.h"

namespace slip::cpu {
namespace {

void want_multiple(const std::string& what, int32_t found, int32_t of) {
  if (found % of == 0) return;
  throw Error(ErrorCode::kUnsupportedModel, what + " is " + std::to_string(found) +
                                                ", expected a multiple of " + std::to_string(of));
}

}  // namespace

std::string device_name(std::string_view kernels, int n_threads) {
  return "cpu (" + std::string(kernels) + ", " + std::to_string(n_threads) +
         (n_threads == 1 ? " thread)" : " threads)");
}

void check_widths(const ModelConfig& config) {
  want_multiple("hidden_size", config.hidden_size, 8);
  want_multiple("intermediate_size", config.intermediate_size, 8);
  want_multiple("head_dim", config.attention.head_dim, 16);
  want_multiple("moe_intermediate_size", config.experts.intermediate_size, 8);
  want_multiple("shared_expert_intermediate_size", config.experts.shared_intermediate_size, 8);
  want_multiple("linear_key_head_dim", config.delta_net.key_dim, 8);
  want_multiple("linear_value_head_dim", config.delta_net.value_dim, kStripColumns);
}

OpsStorage::OpsStorage(const ModelConfig& config, const StateLayout& layout,
                       std::span<SequenceState> states, const OpsPlan& plan)
    : config_(config), layout_(layout), plan_(plan), states_(states) {
  check_widths(config);
  for (int i = 0; i < kActCount; ++i) {
    const Act act = static_cast<Act>(i);
    const int32_t n_rows = act_rows(act);
    acts_[static_cast<size_t>(i)] = FloatBuffer(static_cast<size_t>(n_rows) * stride(act));
  }
}

void OpsStorage::begin(const Pass& pass) { check_pass(pass); }

std::span<const float> OpsStorage::read(Act act, int32_t first_row, int32_t n_rows) {
  SLIP_CHECK(first_row >= 0 && first_row + n_rows <= act_rows(act));
  return {row(act, first_row), static_cast<size_t>(n_rows) * stride(act)};
}

void OpsStorage::write(Act act, int32_t row, std::span<const float> values) {
  SLIP_CHECK(row >= 0 && row < act_rows(act) && values.size() == stride(act));
  std::ranges::copy(values, this->row(act, row));
}

MatrixRef OpsStorage::add_matrix(const WeightView& weight, MatrixUse use) {
  want_multiple("input width of a matrix", weight.n_in, 8);
  want_multiple("group size of a matrix", weight.group_size, 8);
  matrices_.push_back(weight);
  const auto ref = static_cast<MatrixRef>(matrices_.size() - 1);
  if (use == MatrixUse::kProduct) prepare_matrix(ref);
  return ref;
}

VectorRef OpsStorage::add_vector(std::span<const float> values) {
  vectors_.emplace_back(values.begin(), values.end());
  return static_cast<VectorRef>(vectors_.size() - 1);
}

ExpertsRef OpsStorage::add_experts(std::span<const FfnRefs> experts, const FfnRefs& shared) {
  experts_.push_back({{experts.begin(), experts.end()}, shared});
  return static_cast<ExpertsRef>(experts_.size() - 1);
}

void OpsStorage::copy_rows(Act from, Act to, std::span<const RowCopy> copies) {
  SLIP_CHECK(stride(from) == stride(to));
  for (const RowCopy& copy : copies) {
    SLIP_CHECK(copy.from < act_rows(from) && copy.to < act_rows(to));
    std::copy_n(row(from, copy.from), stride(from), row(to, copy.to));
  }
}

int64_t OpsStorage::workspace_bytes() const {
  size_t sum = 0;
  for (const FloatBuffer& buffer : acts_) sum += buffer.n_bytes();
  return static_cast<int64_t>(sum);
}

void OpsStorage::check_pass(const Pass& pass) const {
  int32_t n_rows = 0;
  for (const PassSegment& segment : pass.segments) {
    SLIP_CHECK(index(segment.state) < states_.size());
    n_rows += segment.n_rows;
  }
  SLIP_CHECK(n_rows == pass.n_rows() && n_rows <= plan_.batch_rows_max);
}

void OpsStorage::check_project(const ProjectArgs& args) const {
  SLIP_CHECK(args.x != args.out && !args.weights.empty());
  const int32_t n_in = matrix(args.weights[0]).n_in;
  SLIP_CHECK(static_cast<size_t>(n_in) <= stride(args.x));
  int32_t n_out = 0;
  for (const MatrixRef ref : args.weights) {
    SLIP_CHECK(matrix(ref).n_in == n_in);
    n_out += matrix(ref).n_out;
  }
  if (args.epilogue == Epilogue::kSiluMul) {
    SLIP_CHECK(args.weights.size() == 2 &&
               matrix(args.weights[0]).n_out == matrix(args.weights[1]).n_out);
    n_out /= 2;
  }
  SLIP_CHECK(args.epilogue != Epilogue::kAddResidual || args.weights.size() == 1);
  SLIP_CHECK(args.epilogue == Epilogue::kNone || args.out_column == 0);
  SLIP_CHECK(
      args.bias == VectorRef::kNone ||
      (args.epilogue == Epilogue::kNone && vector(args.bias).size() == static_cast<size_t>(n_out)));
  SLIP_CHECK(static_cast<size_t>(args.out_column + n_out) <= stride(args.out));
  SLIP_CHECK(args.n_rows <= act_rows(args.out));
  if (args.norm == VectorRef::kNone) return;
  SLIP_CHECK(n_in == config_.hidden_size && vector(args.norm).size() == static_cast<size_t>(n_in));
}

void OpsStorage::check_delta_net(const Pass& pass) const {
  check_pass(pass);
  for (const PassSegment& segment : pass.segments) {
    SLIP_CHECK(segment.n_fold >= 0 && segment.n_fold <= kDraftTokensMax);
    SLIP_CHECK(segment.n_certain <= segment.n_rows &&
               segment.n_rows - segment.n_certain <= kDraftTokensMax);
  }
}

float* OpsStorage::recurrent_head(const SequenceState& state, int32_t layer, int32_t head) const {
  const auto head_floats = static_cast<size_t>(layout_.delta_net.value_dim) *
                           static_cast<size_t>(layout_.delta_net.key_dim);
  return state.recurrent.data() + static_cast<size_t>(layer) * layout_.recurrent_floats() +
         static_cast<size_t>(head) * head_floats;
}

float* OpsStorage::conv_history(const SequenceState& state, int32_t layer) const {
  return state.conv.data() + static_cast<size_t>(layer) * layout_.conv_floats();
}

float* OpsStorage::kept_row(const SequenceState& state, int32_t layer, int32_t i) const {
  return state.kept.data() + static_cast<size_t>(layer) * layout_.kept_floats() +
         static_cast<size_t>(i) * static_cast<size_t>(layout_.kept_width());
}

}  // namespace slip::cpu
