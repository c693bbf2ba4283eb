// The causal convolution and the gated delta rule. A strip of 32 value columns (16 KiB with 128
// keys) is independent of the others and stays in the first-level cache while all rows of a segment
// run over it. Cost of a key and row with 8 lanes: 16 vector operations and 4 stores, bound by the
// FMA units; half of them with 16 lanes.
#pragma once

#include "backend/cpu/kernels/table.h"
#include "backend/cpu/kernels/vector_math_inl.h"

namespace slip::cpu {
namespace {

constexpr int kStripVectors = kColumnsPerStrip / kWideLanes;

void convolve(const ConvParams& p) {
  for (int32_t r = 0; r < p.n_rows; ++r) {
    float* out = p.out + static_cast<size_t>(r) * static_cast<size_t>(p.n_channels);
    for_vectors(p.n_channels, [&](auto sums, int32_t c) {
      using V = decltype(sums);
      for (int32_t j = 0; j < p.n_taps; ++j) {
        const float* taps = p.taps + static_cast<size_t>(j) * p.taps_stride + p.channel + c;
        sums = fma(load<V>(taps), load<V>(p.inputs[r + j] + p.channel + c), sums);
      }
      store(out + c, silu(sums));
    });
  }
}

// S^T k. Every kKeySums-th key has a sum of its own, so that eight chains hide the latency of FMA.
constexpr int kKeySums = 8 / kStripVectors;

struct Prediction {
  Wide columns[kStripVectors];
};
inline Prediction predict(const float* state, const float* k, int32_t key_dim) {
  Wide sums[kKeySums][kStripVectors] = {};
  for (int32_t i = 0; i < key_dim; i += kKeySums) {
#pragma GCC unroll 4
    for (int j = 0; j < kKeySums; ++j, state += kColumnsPerStrip) {
      const Wide key = splat<Wide>(k[i + j]);
#pragma GCC unroll 4
      for (int v = 0; v < kStripVectors; ++v)
        sums[j][v] = fma(key, load<Wide>(state + v * kWideLanes), sums[j][v]);
    }
  }
  Prediction all;
  for (int v = 0; v < kStripVectors; ++v) {
    all.columns[v] = sums[0][v] + sums[1][v];
    if constexpr (kKeySums == 4) all.columns[v] += sums[2][v] + sums[3][v];
  }
  return all;
}

template <bool kHasOutput>
inline void delta_row(const DeltaParams& p, int32_t row) {
  const auto r = static_cast<size_t>(row);
  const auto key_dim = static_cast<size_t>(p.key_dim);
  const float* k = p.k + r * key_dim;
  const float* q = kHasOutput ? p.q + r * key_dim : nullptr;
  const float* v_row = p.v + r * p.v_stride;
  const Wide decay = splat<Wide>(p.decay[row]), beta = splat<Wide>(p.beta[row]);
  const Prediction prediction = predict(p.state, k, p.key_dim);
  Wide delta[kStripVectors], out[kStripVectors] = {};
  for (int v = 0; v < kStripVectors; ++v) {
    delta[v] = beta * fma(-decay, prediction.columns[v], load<Wide>(v_row + v * kWideLanes));
  }
  float* state = p.state;
  for (int32_t i = 0; i < p.key_dim; ++i, state += kColumnsPerStrip) {
    const Wide key = splat<Wide>(k[i]);
    const Wide query = kHasOutput ? splat<Wide>(q[i]) : Wide{};
#pragma GCC unroll 4
    for (int v = 0; v < kStripVectors; ++v) {
      const Wide s = fma(key, delta[v], decay * load<Wide>(state + v * kWideLanes));
      store(state + v * kWideLanes, s);
      if constexpr (kHasOutput) out[v] = fma(query, s, out[v]);
    }
  }
  if constexpr (kHasOutput) {
    for (int v = 0; v < kStripVectors; ++v)
      store(p.out + r * p.out_stride + v * kWideLanes, out[v]);
  }
}

void delta(const DeltaParams& p) {
  for (int32_t row = 0; row < p.n_rows; ++row) {
    if (p.out != nullptr) {
      delta_row<true>(p, row);
    } else {
      delta_row<false>(p, row);
    }
  }
}

}  // namespace
}  // namespace slip::cpu
