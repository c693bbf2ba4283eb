// A model's worth of buffers without a model: what the tests of Ops run on. Two worlds made from
// the same case hold the same numbers, so that two implementations can be compared; everything that
// an operation has to write starts as NaN.
#pragma once

#include <cmath>
#include <cstring>
#include <deque>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backend/cpu/cpu_ops.h"
#include "backend/cpu/reference_ops.h"
#include "base/rng.h"

namespace slip::cpu {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr OpsPlan kPlan{.batch_rows_max = 96, .logit_rows_max = 96, .states_max = 4, .n_splits = 2};

// Standard normal, the same for the same seed: a window into one drawn list, since drawing anew
// takes longer than the operations.
inline void fill_random(std::span<float> to, uint64_t seed, float scale = 1.0f) {
  constexpr size_t kDrawn = 65537;  // prime, so that windows of different seeds differ
  static const std::vector<float> drawn = [] {
    std::vector<float> values(kDrawn);
    for (size_t i = 0; i < kDrawn; ++i) values[i] = normal(1, i, Draw::kTest);
    return values;
  }();
  size_t at = seed * 40503 % kDrawn;
  for (float& x : to) {
    x = scale * drawn[at];
    at = at + 1 == kDrawn ? 0 : at + 1;
  }
}

inline std::vector<float> random_floats(size_t n, uint64_t seed, float scale = 1.0f) {
  std::vector<float> values(n);
  fill_random(values, seed, scale);
  return values;
}

// The tables that this machine can run.
inline std::vector<const KernelTable*> usable_tables() {
  std::vector<const KernelTable*> usable;
  for (const KernelTable* table : kernel_tables()) {
    if (table->supports(cpu_features())) usable.push_back(table);
  }
  return usable;
}

// Sequence states with room for n_tokens, all recurrent memory random, all cache rows NaN.
struct World {
  World(const ModelConfig& model, int32_t n_states, int32_t n_tokens, const KvFormat& format = {})
      : config(model), layout(config, format), states(static_cast<size_t>(n_states)) {
    for (SequenceState& state : states) {
      for (int32_t begin = 0; begin < n_tokens; begin += kCacheBlockTokens) {
        blocks.emplace_back(layout.kv.block_bytes());
        std::ranges::fill(blocks.back().span(), std::byte{0xFF});  // NaN in every type
        state.blocks.push_back(blocks.back().data());
      }
      const auto n_layers = static_cast<size_t>(layout.n_recurrent_layers);
      state.recurrent = FloatBuffer(n_layers * layout.recurrent_floats());
      state.conv = FloatBuffer(n_layers * layout.conv_floats());
      state.kept = FloatBuffer(n_layers * layout.kept_floats());
      const auto seed = static_cast<uint64_t>(&state - states.data());
      fill_random(state.recurrent.span(), 100 + seed, 0.1f);
      fill_random(state.conv.span(), 200 + seed);
      std::ranges::fill(state.kept.span(), kNan);
    }
  }

  ModelConfig config;
  StateLayout layout;
  std::vector<SequenceState> states;
  std::deque<ByteBuffer> blocks;
};

inline std::unique_ptr<OpsStorage> make_ops(World& world, const KernelTable& table,
                                            ThreadPool& pool) {
  return std::make_unique<CpuOps>(world.config, world.layout, world.states, kPlan, pool, table);
}
inline std::unique_ptr<OpsStorage> make_reference(World& world) {
  return std::make_unique<ReferenceOps>(world.config, world.layout, world.states, kPlan);
}

// A pass over the given segments; token ids are 0, 1, 2, ...
struct PassOf {
  explicit PassOf(std::vector<PassSegment> s) : segments(std::move(s)) {
    for (const PassSegment& segment : segments) n_rows += segment.n_rows;
    for (int32_t i = 0; i < n_rows; ++i) tokens.push_back(static_cast<TokenId>(i));
  }
  operator Pass() const { return {.tokens = tokens, .segments = segments}; }
  std::vector<PassSegment> segments;
  std::vector<TokenId> tokens;
  int32_t n_rows = 0;
};

inline PassOf one_segment(int32_t n_rows) {
  return PassOf(std::vector<PassSegment>{{.n_rows = n_rows}});
}

inline std::span<float> rows_of(const OpsStorage& ops, Act act, int32_t begin, int32_t n) {
  return {ops.row(act, begin), static_cast<size_t>(n) * ops.stride(act)};
}

// Every element within `tolerance` of itself and of the reference's root mean square; NaN exactly
// where the reference has it.
inline void expect_close(std::span<const float> found, std::span<const float> wanted,
                         double tolerance, const std::string& what) {
  ASSERT_EQ(found.size(), wanted.size());
  double sum = 0;
  size_t n = 0;
  for (const float w : wanted) {
    if (std::isnan(w)) continue;
    sum += static_cast<double>(w) * static_cast<double>(w);
    ++n;
  }
  const double typical = std::sqrt(sum / static_cast<double>(std::max<size_t>(n, 1)));
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (std::isnan(wanted[i]) && std::isnan(found[i])) continue;
    const double error = std::abs(static_cast<double>(found[i]) - static_cast<double>(wanted[i]));
    ASSERT_LE(error, tolerance * (typical + std::abs(static_cast<double>(wanted[i]))))
        << what << ": element " << i << " is " << found[i] << ", wanted " << wanted[i];
  }
}

inline bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

}  // namespace slip::cpu
