// The routed experts of CpuOps. Rows are sorted by expert, so that an expert's weights are read
// once for all rows that chose it; every row then adds up what its experts gave, in ascending
// order, and never sees who else chose them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/cpu/cpu_products.h"
#include "backend/cpu/kernels/table.h"
#include "backend/cpu/ops_storage.h"
#include "base/thread_pool.h"

namespace slip::cpu {

class CpuExperts {
 public:
  // All of them outlive this object. Reserves nothing for a model without experts.
  CpuExperts(const OpsStorage& storage, ThreadPool& pool, const KernelTable& kernels,
             CpuProducts& products);

  // See Ops::experts.
  void run(const Pass& pass, const ExpertsArgs& args);

  int64_t workspace_bytes() const;

 private:
  // Rows [begin, begin + n_rows) of inputs_ that run through one network.
  struct Group {
    FfnRefs ffn;
    int32_t begin, n_rows;
    std::byte* prepared;  // its rows as packed products read them
  };
  // Outputs [out_begin, out_end) of a group.
  struct Item {
    const Group* group;
    int32_t out_begin, out_end;
  };

  void run_slab(const ExpertsArgs& args, int32_t first_row, int32_t n_rows);
  void route(const ExpertsArgs& args, int32_t first_row, int32_t n_rows);
  void choose(int32_t row, int thread);
  void sort_rows(const ExpertsArgs& args, int32_t n_rows);
  void gather(int32_t n_rows);
  void prepare(const FloatBuffer& from, size_t width, MatrixRef FfnRefs::*first);
  template <class Body>
  void for_items(Act of_outputs, Body&& body);
  void run_up(const Item& item, int thread);
  void run_down(const Item& item, int thread);
  void combine(int32_t first_row, int32_t n_rows);

  CpuProducts::Inputs inputs_of(const Group& group, const FloatBuffer& from, size_t width) const;
  size_t index(int32_t i) const { return static_cast<size_t>(i); }

  const OpsStorage& storage_;
  const ExpertsConfig& config_;
  ThreadPool& pool_;
  const KernelTable& kernels_;
  CpuProducts& products_;
  size_t width_;       // hidden_size
  size_t ffn_width_;   // of the widest network
  int32_t per_row_;    // networks that a row runs through, the shared one included
  int32_t slab_rows_;  // rows that are sorted at a time
  size_t product_floats_, scratch_floats_;

  FloatBuffer normed_;           // [slab_rows, hidden_size]
  FloatBuffer router_;           // [slab_rows, n_experts] logits, then probabilities
  FloatBuffer shared_gate_;      // [slab_rows, 1]
  FloatBuffer weights_;          // [slab_rows, per_row]
  FloatBuffer inputs_;           // [slab_rows * per_row, hidden_size], sorted by expert
  FloatBuffer hidden_;           // [slab_rows * per_row, ffn_width]
  FloatBuffer outputs_;          // [slab_rows * per_row, hidden_size]
  ByteBuffer prepared_;          // of all groups
  FloatBuffer scratch_;          // of each thread: a product's, then outputs of two weights
  std::vector<int32_t> order_;   // [n_threads, n_experts]
  std::vector<int32_t> chosen_;  // [slab_rows, per_row] expert of each slot; n_experts: shared
  std::vector<int32_t> place_;   // [slab_rows, per_row] its row of inputs_
  std::vector<int32_t> begin_;   // [n_experts + 2] first row of each expert in inputs_
  std::vector<Group> groups_;
  std::vector<int32_t> group_of_;  // [slab_rows * per_row] of each row of inputs_
  std::vector<Item> items_;
};

}  // namespace slip::cpu
