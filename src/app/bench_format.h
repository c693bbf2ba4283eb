// Weight formats by the names that benches give them.
#pragma once

#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "tensor/quant.h"

namespace slip {

std::optional<WeightFormat> parse_bench_format(const std::string& name);

CLI::Validator bench_format();  // q8, q4, bf16, fp8

}  // namespace slip
