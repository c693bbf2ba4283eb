// How single operations are measured: all rows in turns inside one process, beside the two physical
// limits in the same minute.
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "app/options.h"
#include "backend/cpu/kernel_bench.h"
#include "base/error.h"
#include "base/json.h"

namespace slip {

// Whole numbers from 1 to `most`, an x between them; nothing for what is not that.
template <size_t n>
std::optional<std::array<int32_t, n>> parse_sizes(const std::string& text, int32_t most) {
  std::array<int32_t, n> sizes{};
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  for (size_t i = 0; i < n; ++i) {
    const auto [rest, error] = std::from_chars(at, end, sizes[i]);
    const bool ends_well = i + 1 == n ? rest == end : rest != end && *rest == 'x';
    if (error != std::errc() || !ends_well || sizes[i] < 1 || sizes[i] > most) return std::nullopt;
    at = rest + 1;
  }
  return sizes;
}

// Sizes that are `good`, or Error{kInvalidArgument} that says what was wanted.
template <size_t n, class Good>
std::array<int32_t, n> require_sizes(const char* option, const std::string& text, int32_t most,
                                     const std::string& wanted, Good good) {
  const std::optional<std::array<int32_t, n>> sizes = parse_sizes<n>(text, most);
  if (sizes && good(*sizes)) return *sizes;
  throw Error(ErrorCode::kInvalidArgument, std::string(option) + ": found " + quote(text) +
                                               ", wanted " + wanted + " up to " +
                                               std::to_string(most));
}

// Prints a table, or a JSON object for each number of rows that begins with the fields of `what`.
// Returns the exit status.
int measure_kernel(const cpu::KernelBench& bench, const BenchKernelOptions& options,
                   const nlohmann::ordered_json& what);

}  // namespace slip
