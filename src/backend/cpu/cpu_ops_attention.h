// Attention of CpuOps: rows are cut into chunks of one sequence, the cache into splits, and (chunk,
// KV head, split) is the item that a thread takes. The thread that finishes the last split of a
// chunk and head merges them, in ascending order.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "backend/cpu/kernels/table.h"
#include "backend/cpu/lanes.h"
#include "backend/cpu/ops_storage.h"
#include "backend/cpu/rotary.h"
#include "base/thread_pool.h"

namespace slip::cpu {

class CpuAttention {
 public:
  // All of them outlive this object.
  CpuAttention(const OpsStorage& storage, ThreadPool& pool, const KernelTable& kernels, Lane& lane);

  // See Ops::attention.
  void run(const Pass& pass, const AttentionArgs& args);

  int64_t workspace_bytes() const;

 private:
  // Rows of one sequence that read the cache together.
  struct Chunk {
    const SequenceState* state;
    int32_t row;  // of the batch
    int32_t position;
    int32_t n_rows;
    int32_t split_tokens;  // the same for all rows
    int32_t slab_row;      // of the buffers below

    int32_t n_splits(int32_t position_of_row) const { return position_of_row / split_tokens + 1; }
    int32_t n_splits() const { return n_splits(position + n_rows - 1); }
  };
  struct Item {
    size_t chunk;
    int32_t kv_head, split;
  };

  void turn_rows(const Pass& pass);
  void collect_chunks(const Pass& pass, bool append_only);
  size_t n_chunks_in_slab(std::span<const Chunk> chunks) const;
  void append(const AttentionArgs& args, std::span<const Chunk> chunks);
  void append_rows(const AttentionArgs& args, const Chunk& chunk, int32_t kv_head, int thread);
  void prepare_queries(const AttentionArgs& args, const Chunk& chunk, int32_t kv_head);
  void prepare_head(const float* x, VectorRef norm, float scale, int32_t row, float* y) const;
  void attend(const AttentionArgs& args, std::span<const Chunk> chunks);
  void attend_split(const AttentionArgs& args, std::span<const Chunk> chunks, size_t index,
                    int thread);
  CacheRange cache_of(const AttentionArgs& args, std::span<const Chunk> chunks,
                      const Item& item) const;
  void count(int32_t n_rows);
  void merge_splits(const Chunk& chunk, int32_t kv_head);

  const float* gate_of(int32_t row, int32_t head) const;        // null where heads have none
  size_t query_index(int32_t kv_head, int32_t slab_row) const;  // in heads
  size_t split_index(int32_t kv_head, int32_t split, int32_t slab_row) const;  // in heads
  std::atomic<int32_t>& n_open_splits(const Chunk& chunk, int32_t kv_head) const;

  const OpsStorage& storage_;
  const AttentionConfig& config_;
  const KvLayout& layout_;
  ThreadPool& pool_;
  const KernelTable& kernels_;
  const AttentionKernel& kernel_;
  Lane& lane_;
  Rotary rotary_;
  int32_t group_;
  int32_t slab_rows_;  // rows attended at once

  FloatBuffer turns_;             // [batch_rows_max, 2 * n_pairs] cosines, then sines
  std::vector<int32_t> turned_;   // [batch_rows_max] the positions they belong to, -1 at first
  FloatBuffer queries_;           // [n_kv_heads, slab_rows, group, head_dim]
  FloatBuffer sums_;              // [n_kv_heads, n_splits, slab_rows, group, head_dim]
  FloatBuffer maxima_, weights_;  // [n_kv_heads, n_splits, slab_rows, group]
  FloatBuffer scratch_;           // [n_threads, max of the kernel's and a key]
  size_t scratch_floats_;
  std::unique_ptr<std::atomic<int32_t>[]>
      n_open_splits_;  // [slab_rows, n_kv_heads], at a chunk's first row
  std::vector<Chunk> chunks_;
  std::vector<Item> items_;
};

}  // namespace slip::cpu
