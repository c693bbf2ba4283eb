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
#include "base/testing/floats.h"

namespace slip::cpu {

using test::expect_close;
using test::fill_random;
using test::kNan;
using test::random_floats;
using test::same_bits;

constexpr OpsPlan kPlan{.batch_rows_max = 96, .logit_rows_max = 96, .states_max = 4, .n_splits = 2};

// A model of attention layers alone.
inline ModelConfig attention_model(const AttentionConfig& attention, size_t n_layers) {
  ModelConfig config;
  config.hidden_size = config.intermediate_size = config.vocab_size = 8;
  config.rms_norm_eps = 1e-6f;
  config.attention = attention;
  config.layers.resize(n_layers);
  return config;
}

// A model of delta-net layers alone.
inline ModelConfig delta_net_model(const DeltaNetConfig& delta_net, size_t n_layers) {
  ModelConfig config = attention_model(
      {.n_heads = 1, .n_kv_heads = 1, .head_dim = 16, .rope = default_rope(4, 1e4)}, 0);
  config.delta_net = delta_net;
  config.layers.assign(n_layers, {.mixer = MixerKind::kDeltaNet});
  return config;
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

}  // namespace slip::cpu
