#include "backend/cpu/self_check.h"

#include <algorithm>
#include <cmath>

namespace slip::cpu {

std::optional<size_t> first_difference(std::span<const float> found, std::span<const float> wanted,
                                       double tolerance) {
  double squares = 0;
  size_t n_finite = 0;
  for (const float x : wanted) {
    if (!std::isfinite(x)) continue;
    squares += double{x} * double{x};
    ++n_finite;
  }
  const double typical = std::sqrt(squares / static_cast<double>(std::max<size_t>(n_finite, 1)));
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (std::isfinite(found[i]) != std::isfinite(wanted[i])) return i;
    if (!std::isfinite(wanted[i])) continue;
    const double error = std::abs(double{found[i]} - double{wanted[i]});
    if (error > tolerance * (typical + std::abs(double{wanted[i]}))) return i;
  }
  return std::nullopt;
}

}  // namespace slip::cpu
