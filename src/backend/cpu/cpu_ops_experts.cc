#include "backend/cpu/cpu_ops_experts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "base/check.h"

namespace slip::cpu {
namespace {

// More rows at a time would find more company for each expert, and cost more room.
constexpr int32_t kSortedRowsMax = 256;
constexpr int32_t kOutsPerItem = CpuProducts::kOutsPerItem;

size_t floats(size_t a, size_t b) { return a * b; }

float sigmoid(float x) { return 1.0f / (1.0f + std::exp(-x)); }

// Whatever the sizes of the groups: what a group of one row takes more than its share is its
// padding.
size_t prepared_bytes_max(const CpuProducts& products, size_t n_rows, size_t n_groups,
                          size_t width) {
  const auto n_in = static_cast<int32_t>(width);
  return products.input_bytes(static_cast<int32_t>(n_rows), n_in) +
         n_groups * products.input_bytes(1, n_in);
}

int32_t n_items_of(int32_t n_outs) { return (n_outs + kOutsPerItem - 1) / kOutsPerItem; }

}  // namespace

CpuExperts::CpuExperts(const OpsStorage& storage, ThreadPool& pool, const KernelTable& kernels,
                       CpuProducts& products)
    : storage_(storage),
      config_(storage.config().experts),
      pool_(pool),
      kernels_(kernels),
      products_(products),
      width_(static_cast<size_t>(storage.config().hidden_size)),
      ffn_width_(static_cast<size_t>(
          std::max(config_.intermediate_size, config_.shared_intermediate_size))),
      per_row_(config_.n_experts_per_token + (config_.shared_intermediate_size > 0 ? 1 : 0)),
      slab_rows_(config_.n_experts > 0 ? std::min(kSortedRowsMax, storage.plan().batch_rows_max)
                                       : 0),
      product_floats_(products.scratch_floats(slab_rows_)),
      scratch_floats_(product_floats_ + 2 * floats(index(slab_rows_), kOutsPerItem)) {
  if (slab_rows_ == 0) return;
  const size_t rows = index(slab_rows_);
  const size_t slots = rows * index(per_row_);
  const auto n_experts = index(config_.n_experts);
  const auto n_threads = static_cast<size_t>(pool.n_threads());
  normed_ = FloatBuffer(floats(rows, width_));
  router_ = FloatBuffer(floats(rows, n_experts));
  shared_gate_ = FloatBuffer(rows);
  weights_ = FloatBuffer(slots);
  inputs_ = FloatBuffer(floats(slots, width_));
  hidden_ = FloatBuffer(floats(slots, ffn_width_));
  outputs_ = FloatBuffer(floats(slots, width_));
  scratch_ = FloatBuffer(floats(n_threads, scratch_floats_));
  order_.resize(n_threads * n_experts);
  chosen_.resize(slots);
  place_.resize(slots);
  begin_.resize(n_experts + 2);
  const size_t n_groups = std::min(slots, n_experts + 1);
  groups_.reserve(n_groups);
  group_of_.resize(slots);
  const size_t widest = std::max(width_, ffn_width_);
  prepared_ = ByteBuffer(prepared_bytes_max(products, slots, n_groups, widest));
  items_.reserve(n_groups * index(n_items_of(static_cast<int32_t>(widest))));
}

int64_t CpuExperts::workspace_bytes() const {
  size_t sum = 0;
  for (const FloatBuffer* b :
       {&normed_, &router_, &shared_gate_, &weights_, &inputs_, &hidden_, &outputs_, &scratch_})
    sum += b->n_bytes();
  for (const std::vector<int32_t>* v : {&order_, &chosen_, &place_, &begin_, &group_of_})
    sum += v->size() * sizeof(int32_t);
  return static_cast<int64_t>(sum + prepared_.n_bytes());
}

void CpuExperts::run(const Pass& pass, const ExpertsArgs& args) {
  storage_.check_pass(pass);
  const std::span<const FfnRefs> routed = storage_.experts_of(args.experts).routed;
  SLIP_CHECK(routed.size() == index(config_.n_experts));
  const FfnRefs& one = routed.front();  // of networks that are all stored alike
  const std::array refs = {one.gate, one.up, one.down};
  products_.count(refs, pass.n_rows());
  for (int32_t row = 0; row < pass.n_rows(); row += slab_rows_)
    run_slab(args, row, std::min(slab_rows_, pass.n_rows() - row));
}

void CpuExperts::run_slab(const ExpertsArgs& args, int32_t first_row, int32_t n_rows) {
  route(args, first_row, n_rows);
  sort_rows(args, n_rows);
  gather(n_rows);
  prepare(inputs_, width_, &FfnRefs::gate);
  for_items(Act::kFfn, [&](const Item& item, int thread) { run_up(item, thread); });
  prepare(hidden_, ffn_width_, &FfnRefs::down);
  for_items(Act::kResidual, [&](const Item& item, int thread) { run_down(item, thread); });
  combine(first_row, n_rows);
}

void CpuExperts::route(const ExpertsArgs& args, int32_t first_row, int32_t n_rows) {
  pool_.run(n_rows, [&](int row, int) {
    kernels_.rms_norm({.x = storage_.row(Act::kResidual, first_row + row),
                       .weight = storage_.vector(args.norm).data(),
                       .y = normed_.data() + index(row) * width_,
                       .dim = static_cast<int32_t>(width_),
                       .eps = storage_.config().rms_norm_eps});
  });
  // The router in pieces, and the shared expert's gate as one more.
  const int32_t n_pieces = n_items_of(config_.n_experts);
  const bool has_shared = config_.shared_intermediate_size > 0;
  const CpuProducts::Inputs x{normed_.data(), width_, n_rows, /*prepared=*/nullptr};
  pool_.run(n_pieces + (has_shared ? 1 : 0), [&](int i, int thread) {
    float* scratch = scratch_.data() + static_cast<size_t>(thread) * scratch_floats_;
    if (i == n_pieces) {
      products_.multiply({args.shared_gate, 0, 1}, x, shared_gate_.data(), 1, scratch);
      return;
    }
    const int32_t begin = i * kOutsPerItem;
    products_.multiply({args.router, begin, std::min(config_.n_experts, begin + kOutsPerItem)}, x,
                       router_.data() + begin, index(config_.n_experts), scratch);
  });
  pool_.run(n_rows, [&](int row, int thread) { choose(row, thread); });
}

// Expert and weight of the row's slots, ascending.
void CpuExperts::choose(int32_t row, int thread) {
  const auto n_experts = index(config_.n_experts);
  const auto n_chosen = config_.n_experts_per_token;
  float* p = router_.data() + index(row) * n_experts;  // logits at first
  const float highest = *std::max_element(p, p + n_experts);
  float total = 0;
  for (size_t e = 0; e < n_experts; ++e) total += p[e] = std::exp(p[e] - highest);

  // A row that is not finite must not disturb the order; its weights stay NaN.
  const auto key = [&](int32_t e) { return p[e] >= 0 ? p[e] : 0.0f; };
  const auto order = std::span(order_).subspan(static_cast<size_t>(thread) * n_experts, n_experts);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::partial_sort(order, order.begin() + n_chosen, [&](int32_t a, int32_t b) {
    return key(a) != key(b) ? key(a) > key(b) : a < b;
  });
  const auto chosen = order.first(index(n_chosen));
  std::ranges::sort(chosen);
  if (config_.renormalise) {
    total = 0;
    for (const int32_t e : chosen) total += p[e];
  }
  const size_t slot = index(row) * index(per_row_);
  for (size_t j = 0; j < chosen.size(); ++j) {
    chosen_[slot + j] = chosen[j];
    weights_.data()[slot + j] = p[chosen[j]] / total;
  }
  if (config_.shared_intermediate_size == 0) return;
  chosen_[slot + chosen.size()] = config_.n_experts;
  weights_.data()[slot + chosen.size()] = sigmoid(shared_gate_.data()[row]);
}

// A place in inputs_ for every slot: expert after expert, rows ascending.
void CpuExperts::sort_rows(const ExpertsArgs& args, int32_t n_rows) {
  const ExpertsOfLayer& experts = storage_.experts_of(args.experts);
  const auto slots = std::span(chosen_).first(index(n_rows) * index(per_row_));
  std::ranges::fill(begin_, 0);
  for (const int32_t expert : slots) ++begin_[index(expert) + 1];
  groups_.clear();
  for (int32_t e = 0; e <= config_.n_experts; ++e) {
    const int32_t n = begin_[index(e) + 1];
    begin_[index(e) + 1] += begin_[index(e)];
    if (n == 0) continue;
    groups_.push_back({.ffn = e < config_.n_experts ? experts.routed[index(e)] : experts.shared,
                       .begin = begin_[index(e)],
                       .n_rows = n,
                       .prepared = nullptr});
    std::fill_n(group_of_.begin() + begin_[index(e)], n, static_cast<int32_t>(groups_.size()) - 1);
  }
  for (size_t slot = 0; slot < slots.size(); ++slot) place_[slot] = begin_[index(slots[slot])]++;
}

void CpuExperts::gather(int32_t n_rows) {
  pool_.run(n_rows, [&](int row, int) {
    for (int32_t j = 0; j < per_row_; ++j) {
      const int32_t place = place_[index(row * per_row_ + j)];
      std::copy_n(normed_.data() + index(row) * width_, width_,
                  inputs_.data() + index(place) * width_);
    }
  });
}

// Every group's outputs in pieces: those of its gate and up projections, or of its down projection.
template <class Body>
void CpuExperts::for_items(Act of_outputs, Body&& body) {
  items_.clear();
  for (const Group& group : groups_) {
    const MatrixRef ref = of_outputs == Act::kFfn ? group.ffn.gate : group.ffn.down;
    const int32_t n_outs = storage_.matrix(ref).n_out;
    for (int32_t begin = 0; begin < n_outs; begin += kOutsPerItem) {
      items_.push_back(
          {.group = &group, .out_begin = begin, .out_end = std::min(n_outs, begin + kOutsPerItem)});
    }
  }
  pool_.run(static_cast<int>(items_.size()),
            [&](int i, int thread) { body(items_[index(i)], thread); });
}

CpuProducts::Inputs CpuExperts::inputs_of(const Group& group, const FloatBuffer& from,
                                          size_t width) const {
  return {from.data() + index(group.begin) * width, width, group.n_rows, group.prepared};
}

// The rows of every group whose matrices are packed, as those read them.
//   first  the matrix that stands for all that read these rows
void CpuExperts::prepare(const FloatBuffer& from, size_t width, MatrixRef FfnRefs::*first) {
  std::byte* at = prepared_.data();
  for (Group& group : groups_) {
    const MatrixRef ref = group.ffn.*first;
    group.prepared = at;
    if (products_.is_packed(ref))
      at += products_.input_bytes(group.n_rows, storage_.matrix(ref).n_in);
  }
  if (at == prepared_.data()) return;
  const Group& last = groups_.back();
  pool_.run(last.begin + last.n_rows, [&](int place, int) {
    const Group& group = groups_[index(group_of_[index(place)])];
    const MatrixRef ref = group.ffn.*first;
    if (!products_.is_packed(ref)) return;
    products_.prepare_row(inputs_of(group, from, width), storage_.matrix(ref).n_in,
                          place - group.begin);
  });
}

void CpuExperts::run_up(const Item& item, int thread) {
  const Group& group = *item.group;
  float* scratch = scratch_.data() + static_cast<size_t>(thread) * scratch_floats_;
  float* gate = scratch + product_floats_;
  float* up = gate + floats(index(slab_rows_), kOutsPerItem);
  const CpuProducts::Inputs x = inputs_of(group, inputs_, width_);
  products_.multiply({group.ffn.gate, item.out_begin, item.out_end}, x, gate, kOutsPerItem,
                     scratch);
  products_.multiply({group.ffn.up, item.out_begin, item.out_end}, x, up, kOutsPerItem, scratch);
  for (int32_t r = 0; r < group.n_rows; ++r) {
    kernels_.silu_mul(gate + r * kOutsPerItem, up + r * kOutsPerItem,
                      hidden_.data() + index(group.begin + r) * ffn_width_ + item.out_begin,
                      item.out_end - item.out_begin);
  }
}

void CpuExperts::run_down(const Item& item, int thread) {
  float* scratch = scratch_.data() + static_cast<size_t>(thread) * scratch_floats_;
  float* out = outputs_.data() + index(item.group->begin) * width_ + item.out_begin;
  products_.multiply({item.group->ffn.down, item.out_begin, item.out_end},
                     inputs_of(*item.group, hidden_, ffn_width_), out, width_, scratch);
}

void CpuExperts::combine(int32_t first_row, int32_t n_rows) {
  pool_.run(n_rows, [&](int row, int) {
    float* residual = storage_.row(Act::kResidual, first_row + row);
    for (int32_t j = 0; j < per_row_; ++j) {
      const size_t slot = index(row * per_row_ + j);
      kernels_.add_scaled(outputs_.data() + index(place_[slot]) * width_, weights_.data()[slot],
                          residual, static_cast<int32_t>(width_));
    }
  });
}

}  // namespace slip::cpu
