// Ops on the vector kernels of one instruction set and the thread pool. Every buffer is reserved in
// the constructor; an operation allocates nothing. Which thread runs an item, and how work is cut
// into items, never reaches a result.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "backend/cpu/cpu_ops_attention.h"
#include "backend/cpu/cpu_ops_delta_net.h"
#include "backend/cpu/cpu_ops_experts.h"
#include "backend/cpu/cpu_products.h"
#include "backend/cpu/kernels/table.h"
#include "backend/cpu/ops_storage.h"
#include "base/thread_pool.h"

namespace slip::cpu {

class CpuOps final : public OpsStorage {
 public:
  // `states`, `pool` and `kernels` outlive this object. `layout` has the cache in the format of the
  // attention kernel that will run. Throws Error{kInvalidArgument} where `lanes` ask for a kernel
  // that `kernels` does not have.
  CpuOps(const ModelConfig& config, const StateLayout& layout, std::span<SequenceState> states,
         const OpsPlan& plan, ThreadPool& pool, const KernelTable& kernels, Lanes lanes = {});

  void embed(const Pass& pass, MatrixRef table, Act out) override;
  void norm(const Pass& pass, const NormArgs& args) override;
  void project(const ProjectArgs& args) override;
  void attention(const Pass& pass, const AttentionArgs& args) override {
    attention_.run(pass, args);
  }
  void delta_net(const Pass& pass, const DeltaNetArgs& args) override {
    delta_net_.run(pass, args);
  }
  void experts(const Pass& pass, const ExpertsArgs& args) override { experts_.run(pass, args); }

  int64_t workspace_bytes() const override;

  int64_t packed_bytes() const override { return products_.packed_bytes(); }

  std::vector<LaneReport> lanes() const override {
    return {lanes_.attention.report(), lanes_.product.report()};
  }

  // The name of what multiplies by a matrix.
  std::string_view product_kernel(MatrixRef ref) const { return products_.kernel(ref); }

 private:
  // Outputs [begin, end) of the weight with index `weight` in ProjectArgs, which start at `column`
  // of the result.
  struct OutRange {
    size_t weight;
    int32_t begin, end, column;
  };

  void prepare_matrix(MatrixRef ref) override { products_.pack(ref); }
  CpuProducts::Inputs inputs_of(const ProjectArgs& args);
  void project_range(const ProjectArgs& args, const CpuProducts::Inputs& x, OutRange range,
                     int thread);

  ThreadPool& pool_;
  const KernelTable& kernels_;
  Lanes lanes_;
  CpuProducts products_;
  size_t product_floats_;  // scratch of a product kernel
  size_t outputs_floats_;  // [rows, kOutsPerItem] outputs that wait for an epilogue
  FloatBuffer scratch_;    // of each thread: a product's, then outputs of two weights
  FloatBuffer normed_;     // [batch_rows_max, hidden_size]
  ByteBuffer inputs_;      // rows of x as packed products read them
  CpuAttention attention_;
  CpuDeltaNet delta_net_;
  CpuExperts experts_;
};

}  // namespace slip::cpu
