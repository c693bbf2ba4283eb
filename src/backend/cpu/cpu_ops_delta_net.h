// The gated delta net of CpuOps. One item is a value head of a segment: convolution, recurrence and
// gated norm in one go, so a layer needs a single parallel region; a second one moves the inputs
// that the next pass will fold.
#pragma once

#include <span>
#include <vector>

#include "backend/cpu/kernels/table.h"
#include "backend/cpu/ops_storage.h"
#include "base/thread_pool.h"

namespace slip::cpu {

class CpuDeltaNet {
 public:
  // All of them outlive this object.
  CpuDeltaNet(const OpsStorage& storage, ThreadPool& pool, const KernelTable& kernels);

  // See Ops::delta_net.
  void run(const Pass& pass, const DeltaNetArgs& args);

  int64_t workspace_bytes() const;

 private:
  // What a segment runs: first rows that only fold, then its own. Row t counts from position
  // n_folded.
  struct Work {
    const DeltaNetArgs& args;
    const SequenceState& state;
    const float* taps;  // [conv_kernel, conv_channels]
    int32_t first_row;  // of the batch
    int32_t n_fold;
    int32_t n_certain;
    int32_t n_rows;  // n_certain and the drafted ones
  };
  enum class RowKind { kFold, kCertain, kDrafted };
  // Rows [begin, end) of a segment for one head, all of one kind and no more than kRowsAtOnce.
  struct Rows {
    RowKind kind;
    int32_t head;
    int32_t begin, end;
    int32_t n() const { return end - begin; }
  };

  const float* transposed_taps(const DeltaNetArgs& args);
  Work segment_work(const PassSegment& segment, const DeltaNetArgs& args, const float* taps,
                    int32_t first_row) const;
  const float* conv_input(const Work& work, int32_t t) const;
  void run_head(const Work& work, int32_t head, int thread);
  void run_rows(const Work& work, const Rows& rows, int thread);
  void fill_gates(const Work& work, const Rows& rows, std::span<float> decay,
                  std::span<float> beta);
  void run_strips(const Work& work, const Rows& rows, const DeltaParams& common,
                  float* strip_copy) const;
  void finish_rows(const Work& work, const Rows& rows) const;
  void keep_inputs(const Work& work) const;
  float& gate(int32_t row, int32_t which, int32_t head) const;

  const OpsStorage& storage_;
  const DeltaNetConfig& config_;
  ThreadPool& pool_;
  const KernelTable& kernels_;
  FloatBuffer taps_;                // [n_recurrent_layers, conv_kernel, conv_channels]
  std::vector<VectorRef> taps_of_;  // [n_recurrent_layers] what each layer of taps_ was made from
  FloatBuffer gates_;               // [batch_rows_max, 2, n_value_heads] decay, then beta
  FloatBuffer scratch_;             // of each thread: q, k and v of kRowsAtOnce rows, and a strip
  size_t scratch_floats_;
  std::vector<int32_t> first_rows_;  // of each segment
};

}  // namespace slip::cpu
