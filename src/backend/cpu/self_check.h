// What the self-checks of lanes share.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace slip::cpu {

// The first element that is off by more than `tolerance` times the definition's root mean square
// and its own size; or not finite where the definition is, or the other way round.
std::optional<size_t> first_difference(std::span<const float> found, std::span<const float> wanted,
                                       double tolerance);

}  // namespace slip::cpu
