// How single operations are measured: all rows in turns inside one process, beside the two physical
// limits in the same minute.
#pragma once

#include <nlohmann/json.hpp>

#include "app/options.h"
#include "backend/cpu/kernel_bench.h"

namespace slip {

// Prints a table, or a JSON object for each number of rows that begins with the fields of `what`.
// Returns the exit status.
int measure_kernel(const cpu::KernelBench& bench, const BenchKernelOptions& options,
                   const nlohmann::ordered_json& what);

}  // namespace slip
