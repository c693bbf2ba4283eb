// Small checkpoints made by rule: a golden file lists what a checkpoint holds, and every tensor's
// bytes follow from its name. tools/rule_checkpoint.py states the rule and makes the same bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tensor/dtype.h"

namespace slip {

struct RuleTensor {
  std::string name;
  DType dtype = DType::kF32;  // F32, F16, BF16, U32 or F8_E4M3
  std::vector<int64_t> shape;
  double mean = 0, amplitude = 0;  // of float types
};

std::vector<std::byte> rule_bytes(uint64_t seed, const RuleTensor& tensor);

// "a.{x,y}.b" stands for a.x.b and a.y.b, several braces for all combinations.
std::vector<std::string> expand_names(const std::string& pattern);

// Writes config.json and the tensor files into `folder`, which exists.
//   golden  "config", "seed", "tensors": file -> [[patterns], dtype, shape, mean, amplitude]
void write_rule_model(const nlohmann::json& golden, const std::filesystem::path& folder);

}  // namespace slip
