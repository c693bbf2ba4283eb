// Ops by definition: the formulas of the specification as plain loops with double sums, one thread,
// one row after the other. The vector kernels are tested against it, and `--kernels reference` runs
// it.
#pragma once

#include <span>
#include <vector>

#include "backend/cpu/ops_storage.h"
#include "backend/cpu/rotary.h"

namespace slip::cpu {

class ReferenceOps final : public OpsStorage {
 public:
  // `states` outlives this object.
  ReferenceOps(const ModelConfig& config, const StateLayout& layout,
               std::span<SequenceState> states, const OpsPlan& plan);

  void embed(const Pass& pass, MatrixRef table, Act out) override;
  void norm(const Pass& pass, const NormArgs& args) override;
  void project(const ProjectArgs& args) override;
  void attention(const Pass& pass, const AttentionArgs& args) override;
  void delta_net(const Pass& pass, const DeltaNetArgs& args) override;
  void experts(const Pass& pass, const ExpertsArgs& args) override;

 private:
  std::vector<double> prepared_head(std::span<const float> x, VectorRef norm,
                                    int32_t position) const;
  void append(const AttentionArgs& args, const SequenceState& state, int32_t row,
              int32_t position) const;
  void attend(const AttentionArgs& args, const SequenceState& state, int32_t row,
              int32_t position) const;

  std::vector<double> multiply(MatrixRef ref, std::span<const double> x) const;
  void add_ffn(const FfnRefs& ffn, double weight, std::span<const double> x,
               std::span<double> sum) const;

  void run_segment(const DeltaNetArgs& args, const PassSegment& segment, int32_t first_row) const;
  std::vector<float> delta_input(const DeltaNetArgs& args, int32_t row) const;
  std::vector<double> convolved(const DeltaNetArgs& args,
                                std::span<const std::vector<float>> inputs, size_t t) const;
  std::vector<float> step(std::span<float> recurrent, std::span<const double> qkv,
                          std::span<const float> gates) const;
  void gate_output(const DeltaNetArgs& args, std::span<const float> read, int32_t row) const;

  Rotary rotary_;
};

}  // namespace slip::cpu
