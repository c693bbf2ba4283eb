// The gated delta net of CpuOps. One item is some value heads of a segment that share a key head:
// convolution, recurrence and gated norm in one go, so a layer needs a single parallel region; a
// second one moves the inputs that the next pass will fold.
#pragma once

#include <span>
#include <vector>

#include "backend/cpu/kernels/table.h"
#include "backend/cpu/ops_storage.h"
#include "base/thread_pool.h"

namespace slip::cpu {

// Rows that a strip of the state serves while it is in the first-level cache.
inline constexpr int32_t kRowsAtOnce = 32;
inline constexpr int32_t kTapsMax = 16;

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
  // Rows [begin, end) of a segment, all of one kind and no more than kRowsAtOnce.
  struct Rows {
    RowKind kind;
    int32_t begin, end;
    int32_t n() const { return end - begin; }
  };
  // Value heads [first, first + n) of one key head.
  struct Heads {
    int32_t first, n;
  };
  // Queries and keys of rows, convolved and normalised, and room for one head's values and a strip
  // of its state: a thread's scratch.
  struct Inputs {
    const float*
        conv_rows[kRowsAtOnce + kTapsMax];  // oldest first, from conv_kernel - 1 before the rows
    float *q, *k, *v, *strip;
  };

  const float* transposed_taps(const DeltaNetArgs& args);
  Work segment_work(const PassSegment& segment, const DeltaNetArgs& args, const float* taps,
                    int32_t first_row) const;
  const float* conv_input(const Work& work, int32_t t) const;
  int32_t heads_per_item(int32_t n_segments) const;
  void run_heads(const Work& work, const Heads& heads, int thread);
  Inputs prepare(const Work& work, const Rows& rows, int32_t first_head, int thread) const;
  void convolve(const Work& work, const Rows& rows, const Inputs& inputs, int32_t channel,
                int32_t n_channels, float* out) const;
  void run_head(const Work& work, const Rows& rows, const Inputs& inputs, int32_t head);
  void fill_gates(const Work& work, const Rows& rows, int32_t head, std::span<float> decay,
                  std::span<float> beta);
  void run_strips(const Work& work, const Rows& rows, int32_t head, const DeltaParams& common,
                  float* strip_copy) const;
  void finish_rows(const Work& work, const Rows& rows, int32_t head) const;
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
