#include "backend/cpu/attention_check.h"

#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "backend/batch.h"
#include "backend/cpu/kv_layout.h"
#include "backend/cpu/lanes.h"
#include "backend/cpu/self_check.h"
#include "base/rng.h"
#include "tensor/buffer.h"

namespace slip::cpu {

namespace {

constexpr int32_t kBlocks = 3;
constexpr int32_t kRowsPosition = 150;  // of the first row: rows end in the last block

// Rounding queries and weights to 8 bits of mantissa moves an output by some 2e-3 of its size, six
// sigma of that and an element that is larger than most come to 2e-2. A token of 150 that is left
// out, or seen too much, moves all elements of a row by 8e-2.
constexpr double kAttentionFault = 3e-2;

// Drawn once for all kernels and numbers of rows, which take the first of each.
struct Drawn {
  explicit Drawn(const AttentionConfig& config)
      : cached(2 * static_cast<size_t>((kRowsPosition + kSegmentRowsMax) * config.head_dim)),
        queries(static_cast<size_t>(kSegmentRowsMax * (config.n_heads / config.n_kv_heads) *
                                    config.head_dim)) {
    const float scale = 1 / std::sqrt(static_cast<float>(config.head_dim));
    for (size_t i = 0; i < cached.size(); ++i) cached[i] = normal(4, i, Draw::kTest);
    for (size_t i = 0; i < queries.size(); ++i) queries[i] = scale * normal(6, i, Draw::kTest);
  }
  std::vector<float> cached;   // [tokens, key and value, head_dim]
  std::vector<float> queries;  // [rows, group, head_dim]
};

// One KV head with its rows on one kernel.
struct Head {
  Head(const AttentionKernel& used, const AttentionConfig& config, const Drawn& all, int32_t n_rows)
      : kernel(used),
        drawn(all),
        head_dim(config.head_dim),
        group(config.n_heads / config.n_kv_heads),
        rows(n_rows) {
    const KvFormat format = kernel.format(head_dim);
    const size_t plane =
        static_cast<size_t>(kCacheBlockTokens * head_dim) * element_bytes(format.type);
    for (std::byte*& block : blocks) {
      block = memory.emplace_back(2 * plane).data();
      std::fill_n(block, 2 * plane, std::byte{0xFF});  // NaN in every type
    }
    value_offset = plane;
    for (int32_t t = 0; t < kRowsPosition + n_rows; ++t) append(format, t);
  }

  void append(const KvFormat& format, int32_t token) {
    std::byte* block = blocks[static_cast<size_t>(token / kCacheBlockTokens)];
    for (const bool is_value : {false, true}) {
      kernel.append({.x = drawn.cached.data() + (2 * token + (is_value ? 1 : 0)) * head_dim,
                     .plane = block + (is_value ? value_offset : 0),
                     .token = token % kCacheBlockTokens,
                     .head_dim = head_dim,
                     .layout = is_value ? &format.values : &format.keys});
    }
  }

  // [rows * group, head_dim]
  std::vector<float> run(const Lane* maybe_lane) const {
    const int32_t n_packed = rows * group;
    const auto n = static_cast<size_t>(n_packed) * static_cast<size_t>(head_dim);
    std::vector<float> sums(n);
    std::vector<float> maxima(static_cast<size_t>(n_packed)), weights(maxima.size());
    const FloatBuffer scratch(kernel.scratch_floats(n_packed, head_dim));
    kernel.attend({.q = drawn.queries.data(),
                   .cache = {.blocks = blocks.data(),
                             .key_offset = 0,
                             .value_offset = value_offset,
                             .begin = 0,
                             .end = kBlocks * kCacheBlockTokens},
                   .next = {},
                   .head_dim = head_dim,
                   .group = group,
                   .position = kRowsPosition,
                   .n_rows = rows,
                   .sums = sums.data(),
                   .maxima = maxima.data(),
                   .weights = weights.data(),
                   .scratch = scratch.data()});
    if (maybe_lane != nullptr) maybe_lane->corrupt(sums.data());
    for (size_t i = 0; i < n; ++i) sums[i] /= weights[i / static_cast<size_t>(head_dim)];
    return sums;
  }

  const AttentionKernel& kernel;
  const Drawn& drawn;
  int32_t head_dim, group, rows;
  size_t value_offset = 0;
  std::vector<ByteBuffer> memory;
  std::array<std::byte*, kBlocks> blocks{};
};

}  // namespace

std::string attention_fault(const AttentionKernel& kernel, const AttentionKernel& plain,
                            const AttentionConfig& config, const Lane& lane) {
  const Drawn drawn(config);
  for (const int32_t n_rows : {1, 13, kSegmentRowsMax}) {
    const std::vector<float> found = Head(kernel, config, drawn, n_rows).run(&lane);
    const std::vector<float> wanted = Head(plain, config, drawn, n_rows).run(nullptr);
    const std::optional<size_t> at = first_difference(found, wanted, kAttentionFault);
    if (!at) continue;
    return "of " + std::to_string(n_rows) + " rows element " + std::to_string(*at) +
           " came out as " + std::to_string(found[*at]) + ", wanted " + std::to_string(wanted[*at]);
  }
  return {};
}

}  // namespace slip::cpu
