// Checks of option values, before the library turns them into numbers: it takes an empty text for
// 0, NaN for a number in every range and -1 for the largest seed.
#pragma once

#include <cstdint>
#include <vector>

#include <CLI/CLI.hpp>

namespace slip {

// Each refuses everything else with "found ..., wanted ...".
CLI::Validator whole_number(int64_t min, int64_t max);
CLI::Validator one_of(std::vector<int64_t> allowed);
CLI::Validator seed();                          // all of uint64_t
CLI::Validator number(double min, double max);  // finite
CLI::Validator kv_type();                       // f32, f16, bf16

}  // namespace slip
