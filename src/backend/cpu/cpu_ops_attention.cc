#include "backend/cpu/cpu_ops_attention.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace slip::cpu {
namespace {

// Long prompts are attended this many rows at a time, which bounds the partial sums. More rows
// would not read the cache less often.
constexpr int32_t kSlabRowsMax = 256;

size_t floats(int64_t a, int64_t b, int64_t c = 1, int64_t d = 1, int64_t e = 1) {
  return static_cast<size_t>(a * b * c * d * e);
}

// The one that the cache was laid out for; any, where there is no cache.
const AttentionKernel& kernel_on(const KvLayout& layout, const KernelTable& kernels,
                                 int32_t head_dim) {
  return layout.n_layers == 0 ? kernels.attention_for(layout.format.type, head_dim)
                              : kernels.attention_on(layout.format, head_dim);
}

}  // namespace

CpuAttention::CpuAttention(const OpsStorage& storage, ThreadPool& pool, const KernelTable& kernels,
                           Lane& lane)
    : storage_(storage),
      config_(storage.config().attention),
      layout_(storage.layout().kv),
      pool_(pool),
      kernels_(kernels),
      kernel_(kernel_on(layout_, kernels, config_.head_dim)),
      lane_(lane),
      rotary_(config_),
      group_(config_.n_heads / std::max(1, config_.n_kv_heads)),
      slab_rows_(std::min(kSlabRowsMax, storage.plan().batch_rows_max)) {
  const OpsPlan& plan = storage.plan();
  const int32_t n_kv_heads = config_.n_kv_heads;
  turns_ = FloatBuffer(floats(plan.batch_rows_max, 2 * rotary_.n_pairs()));
  turned_.assign(static_cast<size_t>(plan.batch_rows_max), -1);
  queries_ = FloatBuffer(floats(n_kv_heads, slab_rows_, group_, config_.head_dim));
  sums_ = FloatBuffer(floats(n_kv_heads, plan.n_splits, slab_rows_, group_, config_.head_dim));
  maxima_ = FloatBuffer(floats(n_kv_heads, plan.n_splits, slab_rows_, group_));
  weights_ = FloatBuffer(maxima_.size());
  scratch_floats_ =
      whole_lines(std::max(kernel_.scratch_floats(kSegmentRowsMax * group_, config_.head_dim),
                           floats(config_.head_dim, 1)));
  scratch_ = FloatBuffer(floats(pool.n_threads(), 1) * scratch_floats_);
  n_open_splits_ = std::make_unique<std::atomic<int32_t>[]>(floats(slab_rows_, n_kv_heads));
  chunks_.reserve(static_cast<size_t>(plan.batch_rows_max));
  items_.reserve(floats(slab_rows_, n_kv_heads, plan.n_splits));
}

int64_t CpuAttention::workspace_bytes() const {
  size_t sum = 0;
  for (const FloatBuffer* b : {&turns_, &queries_, &sums_, &maxima_, &weights_, &scratch_})
    sum += b->n_bytes();
  return static_cast<int64_t>(sum);
}

void CpuAttention::run(const Pass& pass, const AttentionArgs& args) {
  storage_.check_pass(pass);
  turn_rows(pass);
  collect_chunks(pass, args.append_only);
  if (!args.append_only) count(pass.n_rows());
  std::span<const Chunk> chunks = chunks_;
  while (!chunks.empty()) {
    const size_t n = n_chunks_in_slab(chunks);
    append(args, chunks.first(n));
    if (!args.append_only) attend(args, chunks.first(n));
    chunks = chunks.subspan(n);
  }
}

// All layers of a pass ask for the same positions, so all but the first find them done.
void CpuAttention::turn_rows(const Pass& pass) {
  int32_t row = 0;
  bool is_done = true;
  for (const PassSegment& s : pass.segments) {
    for (int32_t i = 0; i < s.n_rows; ++i, ++row) {
      int32_t& turned = turned_[static_cast<size_t>(row)];
      is_done = is_done && turned == s.position + i;
      turned = s.position + i;
    }
  }
  if (is_done) return;
  const auto n_pairs = static_cast<size_t>(rotary_.n_pairs());
  pool_.run(row, [&](int r, int) {
    float* turn = turns_.data() + 2 * n_pairs * static_cast<size_t>(r);
    rotary_.turn(turned_[static_cast<size_t>(r)], {turn, n_pairs}, {turn + n_pairs, n_pairs});
  });
}

void CpuAttention::collect_chunks(const Pass& pass, bool append_only) {
  chunks_.clear();
  int32_t row = 0;
  int32_t slab_row = 0;
  for (const PassSegment& s : pass.segments) {
    const SequenceState& state = storage_.state(s.state);
    const int32_t n_splits = storage_.plan().n_splits;
    SLIP_CHECK(append_only || s.n_rows <= rows_until_split_change(s.position, n_splits));
    SLIP_CHECK(static_cast<size_t>(s.position + s.n_rows) <=
               state.blocks.size() * kCacheBlockTokens);
    for (int32_t begin = 0, n = 0; begin < s.n_rows; begin += n) {
      n = std::min({s.n_rows - begin, kSegmentRowsMax, slab_rows_});
      if (slab_row + n > slab_rows_) slab_row = 0;
      chunks_.push_back({.state = &state,
                         .row = row,
                         .position = s.position + begin,
                         .n_rows = n,
                         .split_tokens = split_tokens(s.position, n_splits),
                         .slab_row = slab_row});
      row += n;
      slab_row += n;
    }
  }
}

size_t CpuAttention::n_chunks_in_slab(std::span<const Chunk> chunks) const {
  size_t n = 1;
  while (n < chunks.size() && chunks[n].slab_row != 0) ++n;
  return n;
}

void CpuAttention::append(const AttentionArgs& args, std::span<const Chunk> chunks) {
  const auto n_kv_heads = config_.n_kv_heads;
  pool_.run(static_cast<int>(chunks.size()) * n_kv_heads, [&](int item, int thread) {
    const Chunk& chunk = chunks[static_cast<size_t>(item / n_kv_heads)];
    append_rows(args, chunk, item % n_kv_heads, thread);
    if (!args.append_only) prepare_queries(args, chunk, item % n_kv_heads);
  });
}

void CpuAttention::append_rows(const AttentionArgs& args, const Chunk& chunk, int32_t kv_head,
                               int thread) {
  const int32_t head_dim = config_.head_dim;
  const int32_t key_column = config_.queries_width() + kv_head * head_dim;
  float* key = scratch_.data() + static_cast<size_t>(thread) * scratch_floats_;
  for (int32_t r = 0; r < chunk.n_rows; ++r) {
    const int32_t position = chunk.position + r;
    const float* projected = storage_.row(Act::kProjected, chunk.row + r);
    std::byte* block = chunk.state->blocks[static_cast<size_t>(position / kCacheBlockTokens)];
    const auto append = [&](const float* x, size_t offset, const KvPlane& layout) {
      kernel_.append({.x = x,
                      .plane = block + offset,
                      .token = position % kCacheBlockTokens,
                      .head_dim = head_dim,
                      .layout = &layout});
    };
    prepare_head(projected + key_column, args.k_norm, 1.0f, chunk.row + r, key);
    append(key, layout_.key_offset(args.kv_layer, kv_head), layout_.format.keys);
    append(projected + key_column + config_.kv_width(),
           layout_.value_offset(args.kv_layer, kv_head), layout_.format.values);
  }
}

void CpuAttention::prepare_queries(const AttentionArgs& args, const Chunk& chunk, int32_t kv_head) {
  const int32_t head_dim = config_.head_dim;
  const float scale = 1.0f / std::sqrt(static_cast<float>(head_dim));
  float* query =
      queries_.data() + query_index(kv_head, chunk.slab_row) * static_cast<size_t>(head_dim);
  for (int32_t r = 0; r < chunk.n_rows; ++r) {
    for (int32_t j = 0; j < group_; ++j, query += head_dim) {
      const int32_t column = config_.query_stride() * (kv_head * group_ + j);
      prepare_head(storage_.row(Act::kProjected, chunk.row + r) + column, args.q_norm, scale,
                   chunk.row + r, query);
    }
  }
}

void CpuAttention::prepare_head(const float* x, VectorRef norm, float scale, int32_t row,
                                float* y) const {
  const float* turn = turns_.data() + floats(row, 2 * rotary_.n_pairs());
  kernels_.prepare_head({.norm = {.x = x,
                                  .weight = storage_.vector(norm).data(),
                                  .y = y,
                                  .dim = config_.head_dim,
                                  .eps = storage_.config().rms_norm_eps},
                         .cos = turn,
                         .sin = turn + rotary_.n_pairs(),
                         .rotary_dims = config_.rotary_dims(),
                         .scale = scale});
}

void CpuAttention::attend(const AttentionArgs& args, std::span<const Chunk> chunks) {
  items_.clear();
  for (size_t c = 0; c < chunks.size(); ++c) {
    for (int32_t head = 0; head < config_.n_kv_heads; ++head) {
      const int32_t n_splits = chunks[c].n_splits();
      n_open_splits(chunks[c], head).store(n_splits, std::memory_order_relaxed);
      for (int32_t split = 0; split < n_splits; ++split) items_.push_back({c, head, split});
    }
  }
  pool_.run(static_cast<int>(items_.size()), [&](int i, int thread) {
    const Item& item = items_[static_cast<size_t>(i)];
    const Chunk& chunk = chunks[item.chunk];
    attend_split(args, chunks, static_cast<size_t>(i), thread);
    // The last one to arrive sees what all others wrote.
    if (n_open_splits(chunk, item.kv_head).fetch_sub(1, std::memory_order_acq_rel) == 1) {
      merge_splits(chunk, item.kv_head);
    }
  });
}

CacheRange CpuAttention::cache_of(const AttentionArgs& args, std::span<const Chunk> chunks,
                                  const Item& item) const {
  const Chunk& chunk = chunks[item.chunk];
  const int32_t n_blocks =
      (chunk.position + chunk.n_rows + kCacheBlockTokens - 1) / kCacheBlockTokens;
  return {.blocks = chunk.state->blocks.data(),
          .key_offset = layout_.key_offset(args.kv_layer, item.kv_head),
          .value_offset = layout_.value_offset(args.kv_layer, item.kv_head),
          .begin = item.split * chunk.split_tokens,
          .end = std::min((item.split + 1) * chunk.split_tokens, n_blocks * kCacheBlockTokens)};
}

void CpuAttention::attend_split(const AttentionArgs& args, std::span<const Chunk> chunks,
                                size_t index, int thread) {
  const Item& item = items_[index];
  const Chunk& chunk = chunks[item.chunk];
  // Threads of the same speed take every n-th item.
  const size_t next = index + static_cast<size_t>(pool_.n_threads());
  const auto head_dim = static_cast<size_t>(config_.head_dim);
  const size_t partial = split_index(item.kv_head, item.split, chunk.slab_row);
  kernel_.attend(
      {.q = queries_.data() + query_index(item.kv_head, chunk.slab_row) * head_dim,
       .cache = cache_of(args, chunks, item),
       .next = next < items_.size() ? cache_of(args, chunks, items_[next]) : CacheRange{},
       .head_dim = config_.head_dim,
       .group = group_,
       .position = chunk.position,
       .n_rows = chunk.n_rows,
       .sums = sums_.data() + partial * head_dim,
       .maxima = maxima_.data() + partial,
       .weights = weights_.data() + partial,
       .scratch = scratch_.data() + static_cast<size_t>(thread) * scratch_floats_});
  if (lane_.is_on()) lane_.corrupt(sums_.data() + partial * head_dim);
}

// All heads of a KV head and all rows of a chunk go over its cache together.
void CpuAttention::count(int32_t n_rows) {
  if (!lane_.is_on()) return lane_.count_refusal(LaneRefusal::kShape);
  lane_.count_use({.n_rows = n_rows,
                   .heads_per_chunk = group_,
                   .n_chunks = static_cast<int32_t>(chunks_.size()) * config_.n_kv_heads,
                   .n_kv_heads = config_.n_kv_heads});
}

void CpuAttention::merge_splits(const Chunk& chunk, int32_t kv_head) {
  const int32_t head_dim = config_.head_dim;
  const size_t stats_stride = split_index(kv_head, 1, 0) - split_index(kv_head, 0, 0);
  for (int32_t r = 0; r < chunk.n_rows; ++r) {
    for (int32_t j = 0; j < group_; ++j) {
      const int32_t head = kv_head * group_ + j;
      const size_t partial = split_index(kv_head, 0, chunk.slab_row + r) + static_cast<size_t>(j);
      kernels_.merge({.sums = sums_.data() + partial * static_cast<size_t>(head_dim),
                      .maxima = maxima_.data() + partial,
                      .weights = weights_.data() + partial,
                      .sums_stride = stats_stride * static_cast<size_t>(head_dim),
                      .stats_stride = stats_stride,
                      .n_splits = chunk.n_splits(chunk.position + r),
                      .head_dim = head_dim,
                      .gate = gate_of(chunk.row + r, head),
                      .out = storage_.row(Act::kMixed, chunk.row + r) + head * head_dim});
    }
  }
}

const float* CpuAttention::gate_of(int32_t row, int32_t head) const {
  if (!config_.has_output_gate) return nullptr;
  return storage_.row(Act::kProjected, row) + head * config_.query_stride() + config_.head_dim;
}

size_t CpuAttention::query_index(int32_t kv_head, int32_t slab_row) const {
  return static_cast<size_t>(kv_head * slab_rows_ + slab_row) * static_cast<size_t>(group_);
}

size_t CpuAttention::split_index(int32_t kv_head, int32_t split, int32_t slab_row) const {
  const int32_t slab = kv_head * storage_.plan().n_splits + split;
  return static_cast<size_t>(slab * slab_rows_ + slab_row) * static_cast<size_t>(group_);
}

std::atomic<int32_t>& CpuAttention::n_open_splits(const Chunk& chunk, int32_t kv_head) const {
  return n_open_splits_[static_cast<size_t>(chunk.slab_row * config_.n_kv_heads + kv_head)];
}

}  // namespace slip::cpu
