#include "rule_model.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <deque>
#include <fstream>
#include <functional>
#include <numeric>
#include <string_view>

#include "base/check.h"
#include "io/safetensors.h"

namespace slip {

namespace {

constexpr uint64_t kGolden = 0x9E3779B97F4A7C15;

uint64_t fnv1a(std::string_view text) {
  uint64_t value = 0xCBF29CE484222325;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return value;
}

// Hash `i` of a tensor, as in splitmix64.
uint64_t mixed(uint64_t start, uint64_t i) {
  uint64_t z = start + (i + 1) * kGolden;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

// Biases draw the hashes of their scales.
std::string hashed_name(const std::string& name) {
  constexpr std::string_view kBiases = ".biases";
  if (!name.ends_with(kBiases)) return name;
  return name.substr(0, name.size() - kBiases.size()) + ".scales";
}

uint16_t exact_half(float value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  uint16_t bits = 0;  // of the greatest finite half that is not above the value: halves are in the
                      // order of their bits
  for (uint16_t step = 0x4000; step > 0; step /= 2) {
    const auto next = static_cast<uint16_t>(bits + step);
    if (next < 0x7C00 && half_to_float(next) <= std::abs(value)) bits = next;
  }
  SLIP_CHECK(half_to_float(bits) == std::abs(value));
  return static_cast<uint16_t>(sign | bits);
}

uint32_t float_bits(const RuleTensor& tensor, uint32_t byte) {
  const double sign = (byte & 0x80) != 0 ? -1 : 1;
  const double size = tensor.amplitude * (128 + (byte & 0x7F)) / 256;
  const auto value = static_cast<float>(tensor.mean + sign * size);
  switch (tensor.dtype) {
    case DType::kF32:
      return std::bit_cast<uint32_t>(value);
    case DType::kF16:
      return exact_half(value);
    case DType::kBF16:
      return to_bfloat16(value).bits;
    default:
      SLIP_CHECK(false);
  }
}

// What each top byte of a hash becomes.
std::array<uint32_t, 256> values_of_bytes(const RuleTensor& tensor) {
  std::array<uint32_t, 256> values;
  for (uint32_t byte = 0; byte < values.size(); ++byte) {
    const bool is_nan = (byte & 0x7F) == 0x7F;
    values[byte] =
        tensor.dtype == DType::kF8E4M3 ? byte - (is_nan ? 1 : 0) : float_bits(tensor, byte);
  }
  return values;
}

RuleTensor parse_row(const nlohmann::json& row) {
  const auto dtype = parse_dtype(row.at(1).get<std::string>());
  SLIP_CHECK(dtype.has_value());
  return {.name = {},
          .dtype = *dtype,
          .shape = row.at(2).get<std::vector<int64_t>>(),
          .mean = row.at(3).get<double>(),
          .amplitude = row.at(4).get<double>()};
}

}  // namespace

std::vector<std::byte> rule_bytes(uint64_t seed, const RuleTensor& tensor) {
  const auto n = static_cast<size_t>(
      std::accumulate(tensor.shape.begin(), tensor.shape.end(), int64_t{1}, std::multiplies<>()));
  const size_t size = element_bytes(tensor.dtype);
  const uint64_t start = fnv1a(std::to_string(seed) + "/" + hashed_name(tensor.name));
  const bool is_word = tensor.dtype == DType::kU32;
  const auto values = is_word ? std::array<uint32_t, 256>() : values_of_bytes(tensor);
  std::vector<std::byte> bytes(n * size);
  for (size_t i = 0; i < n; ++i) {
    const uint64_t hash = mixed(start, i);
    const uint32_t value = is_word ? static_cast<uint32_t>(hash >> 32) : values[hash >> 56];
    std::memcpy(bytes.data() + i * size, &value, size);  // little-endian, as the format is
  }
  return bytes;
}

std::vector<std::string> expand_names(const std::string& pattern) {
  const size_t open = pattern.find('{');
  if (open == std::string::npos) return {pattern};
  const size_t close = pattern.find('}', open);
  const std::vector<std::string> rests = expand_names(pattern.substr(close + 1));
  std::vector<std::string> names;
  for (size_t begin = open + 1, end = 0; begin <= close; begin = end + 1) {
    end = std::min(pattern.find(',', begin), close);
    for (const std::string& rest : rests)
      names.push_back(pattern.substr(0, open) + pattern.substr(begin, end - begin) + rest);
  }
  return names;
}

void write_rule_model(const nlohmann::json& golden, const std::filesystem::path& folder) {
  std::ofstream(folder / "config.json") << golden.at("config").dump() << '\n';
  const auto seed = golden.at("seed").get<uint64_t>();
  for (const auto& [file, rows] : golden.at("tensors").items()) {
    std::deque<std::vector<std::byte>> bytes;  // a deque: views into its elements stay valid
    std::vector<NamedTensor> tensors;
    for (const nlohmann::json& row : rows) {
      RuleTensor tensor = parse_row(row);
      for (const auto& pattern : row.at(0)) {
        for (const std::string& name : expand_names(pattern.get<std::string>())) {
          tensor.name = name;
          const std::vector<std::byte>& own = bytes.emplace_back(rule_bytes(seed, tensor));
          tensors.push_back({.name = name,
                             .tensor = {.dtype = tensor.dtype,
                                        .shape = tensor.shape,
                                        .data = own.data(),
                                        .n_bytes = own.size()}});
        }
      }
    }
    write_safetensors(folder / file, tensors);
  }
}

}  // namespace slip
