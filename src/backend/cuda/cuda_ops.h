// Ops on a GPU. What a pass looks up is sent in begin(); an operation is a few launches and
// allocates nothing. No result depends on how many rows run or on the rows beside one.
#pragma once

#include <array>
#include <memory>
#include <span>

#include "backend/cuda/device_states.h"
#include "backend/cuda/device_weights.h"
#include "backend/cuda/kernels/attention/attention.h"
#include "backend/cuda/kernels/product/plain.h"
#include "backend/cuda/staged_upload.h"
#include "model/ops.h"

namespace slip::cuda {

// Throws Error{kUnsupportedModel} for widths that the kernels do not have.
void check_widths(const ModelConfig& config);

class CudaOps final : public Ops {
 public:
  // `states` outlives this object. Throws Error{kUnsupportedModel} as check_widths(),
  // Error{kInsufficientMemory}.
  CudaOps(const ModelConfig& config, const OpsPlan& plan, const DeviceStates& states,
          std::shared_ptr<Stream> stream);

  void begin(const Pass& pass) override;
  std::span<const float> read(Act act, int32_t first_row, int32_t n_rows) override;
  void write(Act act, int32_t row, std::span<const float> values) override;

  MatrixRef add_matrix(const WeightView& weight, MatrixUse) override {
    return weights_.add(weight);
  }
  VectorRef add_vector(std::span<const float> values) override { return weights_.add(values); }
  ExpertsRef add_experts(std::span<const FfnRefs> experts, const FfnRefs& shared) override {
    return weights_.add(experts, shared);
  }

  void embed(const Pass& pass, MatrixRef table, Act out) override;
  void norm(const Pass& pass, const NormArgs& args) override;
  void project(const ProjectArgs& args) override;
  void attention(const Pass& pass, const AttentionArgs& args) override;
  void delta_net(const Pass& pass, const DeltaNetArgs& args) override;
  void experts(const Pass& pass, const ExpertsArgs& args) override;
  void copy_rows(Act from, Act to, std::span<const RowCopy> copies) override;

  int64_t weight_bytes() const { return weights_.n_bytes(); }
  int64_t workspace_bytes() const;  // of the device

 private:
  int64_t stride(Act act) const { return act_width(config_, act); }
  float* row(Act act, int64_t index) const {
    return acts_[static_cast<size_t>(act)].data() + index * stride(act);
  }
  void normalise(const float* x, VectorRef weight, const int32_t* n_rows, int32_t n_rows_max,
                 float* y, int64_t y_stride);
  void multiply(ProductParams params, std::span<const MatrixRef> weights, int32_t n_rows_max);
  AttentionParams attention_params(const AttentionArgs& args) const;

  // Parts of what begin() sends, one behind the other.
  struct StepLayout {
    size_t tokens, rows, segments, n_bytes;
    StepLayout(int32_t rows_max, int32_t segments_max);
  };
  StepView step() const;
  const int32_t* n_rows() const { return &step().counts->n_rows; }

  ModelConfig config_;
  OpsPlan plan_;
  const DeviceStates& states_;
  std::shared_ptr<Stream> shared_stream_;
  Stream& stream_;
  DeviceWeights weights_;
  StepLayout step_layout_;
  StagedUpload step_;    // StepCounts, tokens, RowData, SegmentData
  StagedUpload copies_;  // their number, then pairs
  int32_t n_copies_ = 0;
  VectorRef frequencies_ = VectorRef::kNone;

  std::array<DeviceMemory<float>, kActCount> acts_;
  DeviceMemory<float> normed_;                           // [batch_rows_max, hidden_size]
  DeviceMemory<float> turns_;                            // [batch_rows_max, 2 n_pairs]
  DeviceMemory<float> queries_;                          // [batch_rows_max, n_heads, head_dim]
  DeviceMemory<float> sums_, maxima_, partial_weights_;  // of a slab, see AttentionParams
  DeviceMemory<float> gates_, read_;                     // of the delta net
  DeviceMemory<float> router_, expert_weights_, expert_hidden_, shared_logits_;
  DeviceMemory<int32_t> chosen_;
  PinnedMemory<float> host_rows_;  // what read() gives
};

}  // namespace slip::cuda
