#include "tensor/quantize.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "tensor/quant.h"

namespace slip {
namespace {

constexpr float kScaleMin = 1e-7f;  // of a group that is constant; MLX's floor

struct Affine {
  float scale, bias;
};

// Source: the affine mode of mlx.core.quantize, whose scales and biases these are bit for bit (mlx
// 0.32). Its codes are those for the scale before it is rounded, which costs a tenth more error in
// 8 bits.
Affine fit(std::span<const float> group, float code_max) {
  const auto [min, max] = std::ranges::minmax(group);
  const bool is_low_end_larger = std::abs(min) > std::abs(max);
  const float edge = is_low_end_larger ? min : max;
  const float step = std::max((max - min) / code_max, kScaleMin);
  const float scale = is_low_end_larger ? step : -step;  // codes lead from the edge inward
  const float zero_code = std::nearbyint(edge / scale);
  if (zero_code == 0.0f) return {.scale = scale, .bias = 0.0f};
  return {.scale = edge / zero_code, .bias = edge};
}

// Packs codes of `bits` bits behind one another, lowest bits first.
class BitWriter {
 public:
  BitWriter(std::byte* out, int32_t bits) : out_(out), bits_(bits) {}

  void push(uint32_t code) {
    waiting_ |= static_cast<uint64_t>(code) << n_waiting_;
    n_waiting_ += bits_;
    while (n_waiting_ >= 8) {
      *out_++ = static_cast<std::byte>(waiting_ & 0xFF);
      waiting_ >>= 8;
      n_waiting_ -= 8;
    }
  }

 private:
  std::byte* out_;
  int32_t bits_;
  uint64_t waiting_ = 0;
  int32_t n_waiting_ = 0;
};

bool is_finite(std::span<const float> values) {
  return std::ranges::all_of(values, [](float v) { return std::isfinite(v); });
}

}  // namespace

bool quantize_row(std::span<const float> values, int32_t bits, int32_t group_size,
                  const AffineRow& row) {
  SLIP_CHECK(affine_format(bits) && group_size > 0 && group_size % 8 == 0);
  const auto size = static_cast<size_t>(group_size);
  const size_t n_groups = values.size() / size;
  SLIP_CHECK(values.size() == n_groups * size);
  SLIP_CHECK(row.codes.size() == values.size() * static_cast<size_t>(bits) / 8);
  SLIP_CHECK(row.scales.size() == n_groups && row.biases.size() == n_groups);
  if (!is_finite(values)) return false;

  const auto code_max = static_cast<float>((1 << bits) - 1);
  BitWriter codes(row.codes.data(), bits);
  for (size_t g = 0; g < n_groups; ++g) {
    const std::span<const float> group = values.subspan(g * size, size);
    const Affine affine = fit(group, code_max);
    row.scales[g] = to_bfloat16(affine.scale);
    row.biases[g] = to_bfloat16(affine.bias);
    const float bias = to_float(row.biases[g]);
    const float codes_per_unit = 1.0f / to_float(row.scales[g]);
    for (const float value : group) {
      const float code = std::clamp((value - bias) * codes_per_unit, 0.0f, code_max);
      codes.push(static_cast<uint32_t>(std::lround(code)));
    }
  }
  return true;
}

}  // namespace slip
