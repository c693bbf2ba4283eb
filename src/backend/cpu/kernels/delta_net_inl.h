// The causal convolution and the gated delta rule. A strip of 32 value columns (16 KiB with 128
// keys) is independent of the others and stays in the first-level cache while all rows of a segment
// run over it. Cost on AVX2: 16 vector operations and 4 stores per key and row; bound by the FMA
// units.
#pragma once

#include "backend/cpu/kernels/table.h"
#include "backend/cpu/kernels/vector_math_inl.h"

namespace slip::cpu {
namespace {

constexpr int kStripVectors = kColumnsPerStrip / kLanes;

void convolve(const ConvParams& p) {
  for (int32_t r = 0; r < p.n_rows; ++r) {
    float* out = p.out + static_cast<size_t>(r) * static_cast<size_t>(p.n_channels);
    for (int32_t c = 0; c < p.n_channels; c += kLanes) {
      F8 sums{};
      for (int32_t j = 0; j < p.n_taps; ++j) {
        const float* taps = p.taps + static_cast<size_t>(j) * p.taps_stride + p.channel + c;
        sums = fma(load(taps), load(p.inputs[r + j] + p.channel + c), sums);
      }
      store(out + c, silu(sums));
    }
  }
}

// S^T k. Even and odd keys have their own sums, so that eight chains hide the latency of FMA.
struct Prediction {
  F8 columns[kStripVectors];
};
inline Prediction predict(const float* state, const float* k, int32_t key_dim) {
  F8 even[kStripVectors] = {}, odd[kStripVectors] = {};
  for (int32_t i = 0; i < key_dim; i += 2, state += 2 * kColumnsPerStrip) {
    const F8 k0 = splat(k[i]), k1 = splat(k[i + 1]);
#pragma GCC unroll 4
    for (int v = 0; v < kStripVectors; ++v) {
      even[v] = fma(k0, load(state + v * kLanes), even[v]);
      odd[v] = fma(k1, load(state + kColumnsPerStrip + v * kLanes), odd[v]);
    }
  }
  Prediction sums;
  for (int v = 0; v < kStripVectors; ++v) sums.columns[v] = even[v] + odd[v];
  return sums;
}

template <bool kHasOutput>
inline void delta_row(const DeltaParams& p, int32_t row) {
  const auto r = static_cast<size_t>(row);
  const auto key_dim = static_cast<size_t>(p.key_dim);
  const float* k = p.k + r * key_dim;
  const float* q = kHasOutput ? p.q + r * key_dim : nullptr;
  const float* v_row = p.v + r * p.v_stride;
  const F8 decay = splat(p.decay[row]), beta = splat(p.beta[row]);
  const Prediction prediction = predict(p.state, k, p.key_dim);
  F8 delta[kStripVectors], out[kStripVectors] = {};
  for (int v = 0; v < kStripVectors; ++v) {
    delta[v] = beta * fma(-decay, prediction.columns[v], load(v_row + v * kLanes));
  }
  float* state = p.state;
  for (int32_t i = 0; i < p.key_dim; ++i, state += kColumnsPerStrip) {
    const F8 key = splat(k[i]);
    const F8 query = kHasOutput ? splat(q[i]) : F8{};
#pragma GCC unroll 4
    for (int v = 0; v < kStripVectors; ++v) {
      const F8 s = fma(key, delta[v], decay * load(state + v * kLanes));
      store(state + v * kLanes, s);
      if constexpr (kHasOutput) out[v] = fma(query, s, out[v]);
    }
  }
  if constexpr (kHasOutput) {
    for (int v = 0; v < kStripVectors; ++v) store(p.out + r * p.out_stride + v * kLanes, out[v]);
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
