// Norms, activations and the preparation of heads: work on one row that is small beside its
// products.
#pragma once

#include <algorithm>
#include <cmath>

#include "backend/cpu/kernels/table.h"
#include "backend/cpu/kernels/vector_math_inl.h"

namespace slip::cpu {
namespace {

inline float sum_of_squares(const float* x, int32_t dim) {
  F8 squares{};
  for (int32_t i = 0; i < dim; i += kLanes) squares = fma(load(x + i), load(x + i), squares);
  return sum(squares);
}

inline float rms_scale(const float* x, int32_t dim, float eps) {
  return 1.0f / std::sqrt(sum_of_squares(x, dim) / static_cast<float>(dim) + eps);
}

void rms_norm(const RmsNormParams& p) {
  const float scale = rms_scale(p.x, p.dim, p.eps);
  for_vectors(p.dim, [&](auto zero, int32_t i) {
    using V = decltype(zero);
    store(p.y + i, load<V>(p.x + i) * splat<V>(scale) * load<V>(p.weight + i));
  });
}

void gated_norm(const RmsNormParams& p, const float* z) {
  const float scale = rms_scale(p.x, p.dim, p.eps);
  for_vectors(p.dim, [&](auto zero, int32_t i) {
    using V = decltype(zero);
    store(p.y + i,
          load<V>(p.x + i) * splat<V>(scale) * load<V>(p.weight + i) * silu(load<V>(z + i)));
  });
}

void l2_normalize(float* x, int32_t dim, float scale) {
  constexpr float kEps = 1e-6f;  // of the model family, not of its configuration
  const F8 factor = splat(scale / std::sqrt(sum_of_squares(x, dim) + kEps));
  for (int32_t i = 0; i < dim; i += kLanes) store(x + i, load(x + i) * factor);
}

void silu_mul(const float* gate, const float* up, float* out, int32_t n) {
  int32_t i = n / kLanes * kLanes;
  for_vectors(i, [&](auto zero, int32_t at) {
    using V = decltype(zero);
    store(out + at, silu(load<V>(gate + at)) * load<V>(up + at));
  });
  for (; i < n; ++i) out[i] = (silu(splat(gate[i])) * splat(up[i]))[0];
}

void add(const float* x, float* out, int32_t n) {
  for (int32_t i = 0; i < n; ++i) out[i] += x[i];
}

void add_scaled(const float* x, float scale, float* out, int32_t n) {
  for (int32_t i = 0; i < n; i += kLanes)
    store(out + i, fma(splat(scale), load(x + i), load(out + i)));
}

void prepare_head(const HeadParams& p) {
  float* y = p.norm.y;
  if (p.norm.weight != nullptr) {
    rms_norm(p.norm);
  } else {
    std::copy_n(p.norm.x, p.norm.dim, y);
  }
  const int32_t half = p.rotary_dims / 2;
  for (int32_t i = 0; i < half; ++i) {
    const float first = y[i], second = y[i + half];
    y[i] = first * p.cos[i] - second * p.sin[i];
    y[i + half] = second * p.cos[i] + first * p.sin[i];
  }
  for (int32_t i = 0; i < p.norm.dim; ++i) y[i] *= p.scale;
}

}  // namespace
}  // namespace slip::cpu
