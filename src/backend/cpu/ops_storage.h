// What every implementation of Ops on the CPU has: activations, weights by reference, and a way to
// the sequence states. The runner reads and writes activations through it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/cpu/sequence_state.h"
#include "model/ops.h"
#include "tensor/buffer.h"

namespace slip::cpu {

// W of the split rule. A constant, not a function of the threads: the number of threads must not
// change a bit. Eight splits of each KV head keep a handful of cores busy and cost one merge of
// eight.
inline constexpr int32_t kSplits = 8;

// "cpu (avx2, 2 threads)"
std::string device_name(std::string_view kernels, int n_threads);

// Throws Error{kUnsupportedModel} for widths that the vector kernels cannot divide.
void check_widths(const ModelConfig& config);

struct ExpertsOfLayer {
  std::vector<FfnRefs> routed;  // [n_experts]
  FfnRefs shared;
};

class OpsStorage : public Ops {
 public:
  // `states` is indexed by StateId and outlives this object.
  // Throws Error{kUnsupportedModel} for widths that the vector kernels cannot divide,
  // Error{kInsufficientMemory}.
  OpsStorage(const ModelConfig& config, const StateLayout& layout, std::span<SequenceState> states,
             const OpsPlan& plan);

  void begin(const Pass& pass) override;
  std::span<const float> read(Act act, int32_t first_row, int32_t n_rows) final;
  void write(Act act, int32_t row, std::span<const float> values) final;

  // Keeps the view. Throws Error{kUnsupportedModel} where n_in or the group size is not a multiple
  // of 8.
  MatrixRef add_matrix(const WeightView& weight, MatrixUse use) final;
  VectorRef add_vector(std::span<const float> values) final;
  ExpertsRef add_experts(std::span<const FfnRefs> experts, const FfnRefs& shared) final;
  void copy_rows(Act from, Act to, std::span<const RowCopy> copies) final;

  // [n_rows, act_width(config, act)]
  float* act(Act act) const { return acts_[static_cast<size_t>(act)].data(); }

  // Weights that are kept in another order besides the file's, bytes.
  virtual int64_t packed_bytes() const { return 0; }

  // All memory that was reserved at load and does not grow: activations and scratch.
  virtual int64_t workspace_bytes() const;

  const ModelConfig& config() const { return config_; }
  const StateLayout& layout() const { return layout_; }
  const OpsPlan& plan() const { return plan_; }

  size_t stride(Act act) const { return static_cast<size_t>(act_width(config_, act)); }
  float* row(Act act, int32_t index) const {
    return this->act(act) + static_cast<size_t>(index) * stride(act);
  }
  int32_t act_rows(Act act) const { return slip::act_rows(plan_, act); }
  const WeightView& matrix(MatrixRef ref) const { return matrices_[static_cast<size_t>(ref)]; }
  // Empty for kNone.
  std::span<const float> vector(VectorRef ref) const {
    if (ref == VectorRef::kNone) return {};
    return vectors_[static_cast<size_t>(ref)];
  }
  const ExpertsOfLayer& experts_of(ExpertsRef ref) const {
    return experts_[static_cast<size_t>(ref)];
  }
  SequenceState& state(StateId id) const { return states_[index(id)]; }

  // Aborts where the arguments do not fit the places that they name.
  void check_pass(const Pass& pass) const;
  void check_project(const ProjectArgs& args) const;
  void check_delta_net(const Pass& pass) const;

  // Recurrent state of one value head: [value_dim / 32, key_dim, 32].
  float* recurrent_head(const SequenceState& state, int32_t layer, int32_t head) const;
  // Inputs of the convolution before position n_folded: [conv_kernel - 1, conv_channels].
  float* conv_history(const SequenceState& state, int32_t layer) const;
  // Inputs of the drafted row at position n_folded + i: [kept_width].
  float* kept_row(const SequenceState& state, int32_t layer, int32_t i) const;

 protected:
  // Called for every matrix of products.
  virtual void prepare_matrix(MatrixRef) {}

 private:
  ModelConfig config_;
  StateLayout layout_;
  OpsPlan plan_;
  std::span<SequenceState> states_;
  std::array<FloatBuffer, kActCount> acts_;
  std::vector<WeightView> matrices_;
  std::vector<std::vector<float>> vectors_;
  std::vector<ExpertsOfLayer> experts_;
};

}  // namespace slip::cpu
